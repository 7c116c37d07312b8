#!/bin/sh
# The static launcher (docker/static.sh) in other root directories: Debian 12 and 13 as debootstrap
# makes them, and one with busybox alone. Only the launcher's one file is copied in. Runs only in
# `sh tests/run.sh long`, as the compiler and the roots come from the network; CASES="..." selects
# cases.
# shellcheck disable=SC2034,SC2154,SC2016  # lib.sh's and roots.sh's variables; scripts for hosts
dynamic=${RINGMASTER_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "its roots are folders of this machine"
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] ||
    skip "builds a compiler's worth of libraries: sh tests/run.sh long"
. "$system/roots.sh"
take_static_launcher debootstrap

it_needs_no_library() {
    checks=$((checks + 1))
    headers=$(readelf -lW "$file")
    check "no loader is asked for" lacks "$headers" INTERP
    check "no library is needed" lacks "$(readelf -dW "$file")" NEEDED
    check "it lies at another place each time" holds "$headers" "DYN (Position-Independent"
    check "it has 6 MB at most" at_most "$(wc -c <"$file")" 6000000
    check "nothing of this machine is in it" lacks \
        "$(strings "$file" | grep -F "$top" | head -n 3)" "$top"
    check "it says its libraries" holds "$("$file" version --all)" "libcurl "
}

# One rank needs no mpirun: it succeeds, fails and is stopped.
one_host() {
    ring 1
    in_root 1 -- train -- sh -c 'echo "rank $RANK of $WORLD_SIZE on $SM_CURRENT_HOST"'
    all_end 60 0 1 || return
    check "the rank's line is marked" holds "$(hosts log 1)" "[algo-1 rank 0] rank 0 of 1 on algo-1"
    ring 1
    in_root 1 -- train -- sh -c 'echo "no such file" >&2; exit 3'
    all_end 60 3 1 || return
    all_name "algo-1 rank 0: exited with 3" 1
    ring 1
    in_root 1 -- train -- sh -c 'trap "exit 0" TERM; echo waiting; while :; do sleep 0.1; done'
    check "it runs" wait_for 60 says 1 'rank 0\] waiting' || return
    hosts stop 1
    all_end 60 143 1
}

# Three hosts find each other by the names in /etc/hosts and start their ranks without mpirun. All
# of them report a rank that fails or is killed, a lost host, a stop, and an mpirun that was
# requested but is missing.
three_hosts() {
    ring 3
    for host in $everyone; do
        in_root "$host" -- train -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'
    done
    all_end 90 0 $everyone || return
    check "rank 2 has run" holds "$(hosts log 3)" '[algo-3 rank 2] rank 2 of 3'
    ring 3
    for host in $everyone; do
        in_root "$host" -- train -- sh -c '[ $RANK != 1 ] || exit 3; exec sleep 60'
    done
    all_end 90 3 $everyone || return
    all_name 'algo-2 rank 1: exited with 3' $everyone
    ring 3
    for host in $everyone; do
        in_root "$host" -- train -- sh -c '[ $RANK != 1 ] || kill -KILL $$; exec sleep 60'
    done
    all_end 90 137 $everyone || return
    all_name 'algo-2 rank 1: killed by signal 9 (SIGKILL)' $everyone
    three_run || return
    hosts kill 2
    all_end 60 73 1 3 || return
    all_name 'algo-2' 1 3
    three_run || return
    hosts stop 3
    all_end 60 143 $everyone || return
    all_name 'stopped on request at algo-3' $everyone
    ring 3
    for host in $everyone; do in_root "$host" -e RINGMASTER_LAUNCHER=mpirun -- train -- true; done
    all_end 90 127 $everyone || return
    all_name mpirun $everyone
}

three_run() {
    ring 3
    for host in $everyone; do
        in_root "$host" -- train -- sh -c \
            'trap "exit 0" TERM; echo waiting; while :; do sleep 0.1; done'
    done
    for host in $everyone; do
        check "host $host runs" wait_for 60 says "$host" '] waiting' || return
    done
}

# a_user NAME ID: /etc/passwd has the user of that name.
a_user() {
    ring 1
    in_root 1 -e RINGMASTER_USER="$1" -- train -- sh -c 'id -u'
    all_end 60 0 1 || return
    check "the rank is that user" holds "$(hosts log 1)" "rank 0] $2"
}

# The environment is larger than musl's own limit, and smaller than Linux's.
a_large_environment() {
    ring 1
    large=$(printf '%0100000d' 0)
    in_root 1 -e ONE="$large" -e TWO="$large" -- train -- sh -c 'echo "${#ONE} and ${#TWO} bytes"'
    all_end 60 0 1 || return
    check "the rank has all of it" holds "$(hosts log 1)" 'rank 0] 100000 and 100000 bytes'
}

jobs_in() {
    enter "$1" || return 0
    one_host && a_large_environment && three_hosts
}

debian_12() { jobs_in debian-12 && a_user nobody 65534; }
debian_13() { jobs_in debian-13 && a_user nobody 65534; }
busybox() { jobs_in busybox && a_user worker 4321; }

# Names like those of a headless service: short ones, a search list, and answers too long for UDP.
# Names with as many dots as ndots and lists of more than 254 bytes are not supported by musl's own
# resolver.
names_come_from_dns() {
    enter busybox || return 0
    by_dns "search other.test jobs.test\noptions ndots:5" one two || return
    by_dns "search other.test test" one.jobs two.jobs || return
    by_dns "search $(printf 'none-%02d.some-domain.example ' $(seq 12))jobs.test" one two
}
by_dns() {
    ring 3
    printf "$1\nnameserver %s\n" 10.77.0.3 >"$RING/resolv.conf"
    hosts start 3 -- python3 "$system/dns.py" 10.77.0.3 one.jobs.test=10.77.0.1 \
        two.jobs.test=10.77.0.2
    check "the name server is ready" wait_for "$PATIENCE" says 3 ready || return
    for host in 1 2; do
        rm -f "$(hosts opt "$host")"/input/config/*
        name=$2
        [ "$host" = 1 ] || name=$3
        in_root "$host" -e RINGMASTER_HOSTS="$2,$3" -e "RINGMASTER_HOST=$name" -- ringmaster check
    done
    check "both end" wait_for 90 hosts wait 1 1 2 || return
    check "$2 has been found" holds "$(hosts log 3)" "whole one.jobs.test 10.77.0.1"
    check "the first host has met the other" holds "$(hosts log 1)" "2 hosts"
    hosts kill 3
}

CASES=${CASES:-it_needs_no_library debian_12 debian_13 busybox names_come_from_dns}
run_cases
finish
