#!/bin/sh
# Tests `ringmaster check --mpi`: sums among all ranks, pairs of hosts that are slow, and ranks that
# die or hang.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

[ -x "$RINGMASTER_BIN/ringtrain" ] || skip "$RINGMASTER_BIN/ringtrain is not built"
"$RINGMASTER_BIN/ringtrain" version | grep -q 'ranks over MPI: Open MPI' ||
    skip "ringtrain has no MPI"

# narrow A B RATE: gives hosts A and B a link of their own for their traffic to each other, limited
# to RATE.
narrow() {
    near=rm-${RING##*/}-$1
    far=rm-${RING##*/}-$2
    ip link add narrow netns "$near" type veth peer name narrow netns "$far" || return
    limit "$near" "10.77.0.$2" "$3" && limit "$far" "10.77.0.$1" "$3"
}
# limit NETWORK ADDRESS RATE: limits the link to ADDRESS with tbf or, where the kernel lacks it,
# with htb.
limit() {
    ip -n "$1" link set narrow up && ip -n "$1" route add "$2/32" dev narrow || return
    tc -n "$1" qdisc add dev narrow root tbf rate "$3" burst 32kbit latency 400ms 2>/dev/null ||
        { tc -n "$1" qdisc add dev narrow root handle 1: htb default 1 &&
            tc -n "$1" class add dev narrow parent 1: classid 1:1 htb rate "$3"; }
}
# the_narrow_link_is_used HOST: the check sends long messages over it, so all ranks have met.
the_narrow_link_is_used() {
    sent=$(ip -n "rm-${RING##*/}-$1" -s link show dev narrow | awk '/TX:/ { getline; print $1 }')
    [ "${sent:-0}" -gt 100000 ]
}
# trainer_of HOST: its rank runs, and is the process $trainer.
trainer_of() {
    for trainer in $(hosts pids "$1"); do
        case $(readlink "/proc/$trainer/exe") in */ringtrain) return ;; esac
    done
    return 1
}
can_limit() {
    command -v tc >/dev/null || { skip_case "no tc here (package iproute2)"; return 1; }
}

# by_lateness COMMAND...: COMMAND fails, and the machine was late by more than a second since the
# fault began. Then pairs that should be good may really have been slow.
by_lateness() {
    "$@" && return 1
    lateness
    [ "$late" -gt 1000 ] || return
    proves_nothing "pairs were slow, and the machine was late by $late ms"
}

# prints TEXT PATTERN: a line of TEXT matches.
prints() { echo "$1" | grep -qE -- "$2" || { echo "  no line like '$2'"; return 1; }; }

all_pairs_are_good() {
    ring 3
    fault_begins
    start_all -e RINGMASTER_RANKS_PER_HOST=2 -- ringmaster check --mpi
    hosts wait "$PATIENCE" >/dev/null
    ! by_lateness [ "$(hosts code 1 2>/dev/null)" != 72 ] || return
    all_end "$PATIENCE" 0 $everyone || return
    log=$(hosts log 1)
    echo "$log" | grep -v ' info ' | sed 's/^/  /'
    check "what sums is printed" prints "$log" \
        '^all-reduce of f32 by Open MPI v.*: 3 hosts, 6 ranks; time of one and its bus bandwidth$'
    for host in $everyone; do
        check "within host $host" prints "$log" "^within algo-$host, 2 ranks .* us .* GB/s$"
    done
    for pair in '1 algo-2' '1 algo-3' '2 algo-3'; do
        check "pair $pair" prints "$log" "^  ok     algo-$pair  .* us .* GB/s$"
    done
    for size in '8 B' '32 KiB' '16 MiB'; do
        check "all ranks, $size" prints "$log" "^ *$size .* us .* GB/s$"
    done
    check "the verdict" prints "$log" '^all sums are right, and no pair is slow$'
    check "nothing failed" [ ! -e "$(hosts opt 1)/output/failure" ]
}

a_program_reads_the_findings() {
    ring 2
    start_all -e RINGMASTER_RESTARTS=3 -- ringmaster check --mpi --json
    all_end "$PATIENCE" 0 $everyone || return
    # Apart from log lines, the first host prints one JSON value.
    fault=$(hosts log 1 | grep -vE '^[0-9-]+T[0-9:.]+Z ' | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert found["over"] == "MPI" and found["code"] == 0 and found["bad_host"] is None, found
assert [h["name"] for h in found["hosts"]] == ["algo-1", "algo-2"], found["hosts"]
(pair,) = found["pairs"]
assert pair["hosts"] == ["algo-1", "algo-2"] and pair["state"] == "ok", pair
for one in found["sizes"] + [pair["latency"], pair["transfer"]]:
    assert one["wrong"] == 0 and one["ranks"] == 2 and one["microseconds"] > 0, one
    bus = one["bytes"] / (one["microseconds"] / 1e6) * 2 * (2 - 1) / 2
    assert abs(bus / one["bus_bytes_per_second"] - 1) < 1e-6, one
assert [one["bytes"] for one in found["sizes"]][:3] == [8, 1024, 32768], found["sizes"]' 2>&1 |
        tail -n 1)
    check "the findings are one value, and right" equal "$fault" ''
}

a_slow_pair_is_named() {
    can_limit || return
    ring 3
    check "the link between algo-2 and algo-3 is narrow" narrow 2 3 20mbit || return
    fault_begins
    began=$fault_at
    start_all -- ringmaster check --mpi
    all_end "$PATIENCE" 72 $everyone || return
    log=$(hosts log 1)
    ! by_lateness [ "$(echo "$log" | grep -c '^  slow ')" -le 1 ] || return
    echo "$log" | grep -v ' info ' | sed 's/^/  /'
    check "the slow one" prints "$log" '^  slow   algo-2 algo-3 .* % of what other pairs reach$'
    for other in 2 3; do
        check "algo-1 and algo-$other are good" prints "$log" "^  ok     algo-1 algo-$other "
    done
    for host in $everyone; do
        check "host $host has the reason" \
            grep -q 'algo-2 and algo-3 are slow together' "$(hosts opt "$host")/output/failure"
    done
    check "in time" at_most "$(($(now_ms) - began))" 60000
}

a_rank_that_dies_is_named() {
    can_limit || return
    ring 3
    # The narrow link makes the check take long enough to be interrupted.
    check "the link between algo-2 and algo-3 is narrow" narrow 2 3 20mbit || return
    start_all -- ringmaster check --mpi
    check "ranks run" wait_for "$PATIENCE" trainer_of 2 || return
    check "ranks sum" wait_for "$PATIENCE" the_narrow_link_is_used 2 || return
    kill -s KILL "$trainer"
    all_end "$PATIENCE" 137 $everyone || return
    all_name 'algo-2 rank 1: killed by signal 9 (SIGKILL)' $everyone
}

a_rank_that_stands_still_ends_the_check() {
    can_limit || return
    ring 3
    check "the link between algo-2 and algo-3 is narrow" narrow 2 3 20mbit || return
    start_all -- ringmaster check --mpi
    check "ranks run" wait_for "$PATIENCE" trainer_of 3 || return
    check "ranks sum" wait_for "$PATIENCE" the_narrow_link_is_used 2 || return
    kill -s STOP "$trainer"
    began=$(now_ms)
    all_end "$PATIENCE" 74 $everyone || return
    check "in time" at_most "$(($(now_ms) - began))" 30000
    check "the step is named" prints "$(hosts log 1; hosts log 2)" 'did not end within [0-9]* s'
    hosts log 1 | grep -E 'no end|error' | sed 's/^/  /'
}

# There are seven rounds of four pairs each. On a shared machine a pair may really be slow, so exit
# code 72 is accepted, too.
eight_hosts_take_less_than_a_minute() {
    ring 8
    began=$(now_ms)
    start_all -- ringmaster check --mpi
    hosts wait "$PATIENCE" $everyone
    check "in time" at_most "$(($(now_ms) - began))" 60000
    case $(hosts code 1) in 0 | 72) ;; *) check "0 or 72: $(hosts code 1)" false ;; esac
    check "all pairs" prints "$(hosts log 1)" '^28 pairs of hosts: '
    check "none is left out" lacks "$(hosts log 1)" 'not tested'
}

wrong_words_are_refused() {
    ring 1
    for words in '--mpi --nccl' '--mpi train' '--mpj'; do
        # shellcheck disable=SC2086  # words
        check "check $words" equal \
            "$("$RINGMASTER_BIN/ringmaster" check $words >/dev/null 2>&1; echo $?)" 64
    done
    hosts start 1 -- ringmaster check --mpi
    all_end "$PATIENCE" 65 1
    check "a single rank is printed" prints "$(hosts log 1)" \
        'check-comm sums among several ranks, and this is the only one'
}

CASES=${CASES:-all_pairs_are_good a_program_reads_the_findings a_slow_pair_is_named
    a_rank_that_dies_is_named a_rank_that_stands_still_ends_the_check
    eight_hosts_take_less_than_a_minute wrong_words_are_refused}
run_cases
finish
