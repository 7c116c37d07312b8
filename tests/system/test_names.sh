#!/bin/sh
# Tests that a job runs whatever its machines' kernel host names are and whatever the host list
# calls them: names with and without dots, unknown ones, equal ones, digits, and addresses, on
# master and workers. Each job is an MPI program on two or three hosts, with the Open MPI under the
# prefix OPENMPI, or else the first one in PATH.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "a container may not change its host name"
[ -x "$RINGMASTER_BIN/probe_mpi" ] || skip "probe_mpi is not built: no mpicc"

# The environment of the hosts has that prefix's mpirun first in PATH.
environment=
[ -z "${OPENMPI:-}" ] ||
    environment="-e PATH=$RINGMASTER_BIN:$OPENMPI/bin:/usr/sbin:/usr/bin:/sbin:/bin
        -e LD_LIBRARY_PATH=$OPENMPI/lib"

# row MASTER'S-KERNEL-NAME WORKER'S-KERNEL-NAME LISTED-MASTER LISTED-WORKER: runs a job in which
# the names in the list resolve to the hosts, and kernel host names do not resolve.
row() {
    ring 2
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    hosts_file "$3" 1
    hosts_file "$4" 2
    start_named 1 "$1" "$3" "$3,$4"
    start_named 2 "$2" "$4" "$3,$4"
    word="$1 and $2, listed as $3 and $4"
    hosts wait "$PATIENCE" >/dev/null
    for host in 1 2; do
        check "$word: host $host leaves with 0" \
            equal "$(hosts code "$host" 2>/dev/null)" 0 || return
    done
    check "$word: the second rank runs on the second host" holds "$(hosts log 2)" \
        "[$4 rank 1] rank 1 of 2 has joined"
}
hosts_file() {
    case $1 in
    [0-9]*.*.*.[0-9]*) ;;
    *) echo "10.77.0.$2 $1" >>"$RING/hosts" ;;
    esac
}
start_named() {
    rm -f "$(hosts opt "$1")"/input/config/*
    # shellcheck disable=SC2086  # words
    hosts start "$1" $environment -e "RINGMASTER_HOSTS=$4" -e "RINGMASTER_HOST=$3" \
        -p "echo '$2' >/proc/sys/kernel/hostname" -- train -- "$share/probe_mpi" "$share" 0
}

rows() {
    row 0f3c5a9be812 77e4a1c2d9f0 algo-1 algo-2
    row 123456789012 987654321098 algo-1 algo-2
    row ip-10-0-78-79 ip-10-0-78-80 algo-1 algo-2
    row trainer_1 trainer_2 trainer_1 trainer_2.my_net
    row ip-10-0-78-79.ec2.internal ip-10-0-78-80.ec2.internal algo-1 algo-2
    row abc.example aws algo-1 algo-2
    row aws abc.example algo-1 algo-2
    row algo-1.ec2.internal algo-2.ec2.internal algo-1 algo-2
    row algo-2 algo-1 algo-1 algo-2
    row n1.example.com n2.example.com n1 n2
    row n1.example.com n2.example.com n1.example.com n2.example.com
    row n1 n2 n1.example.com n2.example.com
    row pod-0 pod-1 pod-0.svc pod-1.svc
    row ip-10-0-0-1.ec2.internal ip-10-0-0-2.ec2.internal 10.77.0.1 10.77.0.2
    row 10.77.0.1 10.77.0.2 10.77.0.1 10.77.0.2
    row 10.77.0.1 10.77.0.2 algo-1 algo-2
    row My-Host.2 my_host_1 algo-1 algo-2
    row my_host_1 My-Host.2 algo-1 algo-2
}

any_name_runs() { rows; }

equal_names_run() {
    row aws aws algo-1 algo-2
    row localhost localhost algo-1 algo-2
    row localhost.localdomain localhost.localdomain algo-1 algo-2
    row 192.0.2.7 192.0.2.7 algo-1 algo-2
}

# three KERNEL-NAME KERNEL-NAME KERNEL-NAME: runs a job of three hosts; its workers may share a
# name.
three() {
    ring 3
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    for host in 1 2 3; do hosts_file "algo-$host" "$host"; done
    word="$*"
    for host in 1 2 3; do
        start_named "$host" "$1" "algo-$host" algo-1,algo-2,algo-3
        shift
    done
    hosts wait "$PATIENCE" >/dev/null
    for host in 1 2 3; do
        check "$word: host $host leaves with 0" \
            equal "$(hosts code "$host" 2>/dev/null)" 0 || return
    done
}

workers_of_equal_names_run() {
    three aws aws aws
    three abc aws aws
    three abc.example aws abc.example
    three a a a
    three abc 10.77.0.3 10.77.0.2
}

# Open MPI cannot be made to work where the master's name is another host's address.
another_hosts_address_is_refused() {
    ring 2
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    hosts_file algo-1 1
    hosts_file algo-2 2
    start_named 1 10.77.0.2 algo-1 algo-1,algo-2
    start_named 2 10.77.0.1 algo-2 algo-1,algo-2
    all_end "$PATIENCE" 65 1 2 || return
    all_name 'host name is "10.77.0.2", which is algo-2'"'"'s address' 1 2
}

# Open MPI 4.1 would fail, and its messages would not mention the name.
a_first_host_of_too_many_letters_is_refused() {
    [ -z "${OPENMPI:-}" ] || { skip_case "only Open MPI 4.1 is known for it"; return; }
    letters=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcde
    ring 2
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    hosts_file algo-1 1
    hosts_file algo-2 2
    start_named 1 $letters algo-1 algo-1,algo-2
    start_named 2 algo-2 algo-2 algo-1,algo-2
    all_end "$PATIENCE" 65 1 2 || return
    all_name "kernel host name \"$letters\" begins with 57 letters" 1 2
}

CASES=${CASES:-any_name_runs equal_names_run workers_of_equal_names_run
    another_hosts_address_is_refused a_first_host_of_too_many_letters_is_refused}
run_cases
finish
