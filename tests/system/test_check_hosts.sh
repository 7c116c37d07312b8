#!/bin/sh
# Tests what `ringmaster check` reports of many hosts, of a host that hangs, of several faults at
# once and of another build of the program. (test_job.sh checks three good hosts.)
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# More hosts try all connections at once.
many_hosts_are_checked() {
    for many in 8 16; do
        ring "$many"
        fault_begins
        start_all -- ringmaster check
        all_end 60 0 $everyone || return
        together $everyone
        nothing_is_left
        check "all connections are tried" holds "$(hosts log 1)" \
            "ok       reach      all $many hosts: $((many * (many - 1))) connections"
    done
}

# One of many hosts has joined and then hangs. The check ends within five seconds however many hosts
# there are, and the others leave then; the first host waits one second more for the one that hangs.
a_silent_host_holds_no_check_up() {
    ring 16
    for host in $(seq 1 15); do hosts start "$host" -- ringmaster check; done
    check "all but one are there" wait_for "$PATIENCE" says 1 'is here, 15 of 16' || return
    hosts freeze 2
    fault_begins
    hosts start 16 -- ringmaster check
    others=$(seq -s ' ' 3 16)
    # shellcheck disable=SC2086  # numbers
    all_end "$PATIENCE" 69 1 $others || return
    # shellcheck disable=SC2086  # numbers
    within 5000 $others
    in_time "the first host is out" $(($(last_ended 1) - fault_at)) 6000
    check "it is named" holds "$(hosts log 1)" \
        'bad      host       algo-2: it did not report its findings in time'
    check "the others are listed" holds "$(hosts log 1)" \
        'ok       reach      all 16 hosts: 210 connections'
    hosts thaw 2
    all_end "$PATIENCE" 69 2
}

# One check reports all faults at once: a firewall, another command, and a small /dev/shm.
all_that_is_wrong_is_told_at_once() {
    ring 3
    hosts start 1 -- ringmaster check --json
    hosts start 2 -p 'iptables -A OUTPUT -d 10.77.0.3 -p tcp --dport 7086 -j DROP &&
        mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm' -- ringmaster check -- sh other
    fault_begins
    hosts start 3 -- ringmaster check
    all_end "$PATIENCE" 65 $everyone || return
    within 5000 $everyone
    found=$(hosts log 1 | sed -n '/^{"hosts"/,/^\],"bad"/p' | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    if row["status"] != "ok":
        print(row["status"], row["item"], ",".join(row["hosts"]), row["code"])')
    check "three rows, and no other" equal "$found" "bad job algo-2 65
warning shared algo-2 0
bad reach algo-2,algo-3 69"
}

# The other build has the same version and the same key.
another_build_is_told_of() {
    id=$("$RINGMASTER_BIN/ringmaster" version --all | sed -n 's/^build *\(.\{12\}\).*/\1/p')
    for words in 'ringmaster check' train; do
        ring 2
        python3 - "$RINGMASTER_BIN/ringmaster" "$share/ringmaster" <<END
import sys
program = open(sys.argv[1], "rb").read()
at = program.index(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0") + 16
open(sys.argv[2], "wb").write(program[:at] + bytes(20) + program[at + 20:])
END
        chmod 755 "$share/ringmaster"
        # shellcheck disable=SC2086  # words
        hosts start 1 -- $words -- true
        hosts start 2 -- "$share/ringmaster" "${words#ringmaster }" -- true
        all_end "$PATIENCE" 65 $everyone || return
        [ "$words" != train ] || all_name \
            "it runs build 000000000000 of ringmaster, the master build $id: another image" \
            $everyone
        [ "$words" = train ] || check "the row has both" grep -Eq \
            "bad +build +algo-2: .* build 000000000000, .*the master's, build $id:" <<END
$(hosts log 1 | tr '\n' ' ')
END
    done
}

CASES=${CASES:-many_hosts_are_checked a_silent_host_holds_no_check_up
    all_that_is_wrong_is_told_at_once another_build_is_told_of}
run_cases
finish
