#!/bin/sh
# Jobs whose first host is lost and that go on under the next one: once, and never twice at the same time.
# Three hosts; RINGMASTER_LONG=1 adds five and eight.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# From the last heartbeat of a master that is lost to the next attempt's begin, where all others come: a lease,
# four seconds to end, and what a start takes. Where some do not come a lease more, or the next candidate's turn.
FOLLOW_S=20
APART_S=60

# begin HOSTS [-e NAME=VALUE]... COMMAND...: with one folder of checkpoints, which all share.
begin() {
    ring "$1"
    shift
    mkdir -p "$share/checkpoints" "$share/work"
    chmod 1777 "$share/checkpoints" "$share/work"
    for host in $everyone; do
        begin_one "$host" "$@"
    done
}
begin_one() {
    one=$1
    shift
    hosts start "$one" -e RINGMASTER_RESTARTS=5 -e RINGMASTER_SHRINK=1 -e RINGMASTER_FAILOVER=1 \
        -e "TEST_SHARE=$share" -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" "$@"
}

# What each rank does: it says ten times a second that it runs, in a file a host and attempt, until it is told to
# end, or to fail.
works='trap "" TERM
    while [ ! -e "$TEST_SHARE/enough" ]; do
        [ ! -e "$TEST_SHARE/fail-$RINGMASTER_ATTEMPT-$RANK" ] || kill -s KILL $$
        date +%s%3N >>"$TEST_SHARE/work/$RINGMASTER_ATTEMPT.$SM_CURRENT_HOST"; sleep 0.1
    done'
begin_work() {
    begin "$1" -- train -- sh -c "$works"
    check "all ranks have started" wait_for 30 says 1 "all $1 ranks have started" || return 1
    check "all ranks work" wait_for 10 works_in 1 "$1"
}
# works_again HOST: its container is started anew, under its name.
works_again() { begin_one "$1" -- train -- sh -c "$works"; }
works_in() { [ "$(find "$share/work" -name "$1.*" | wc -l)" -eq "$2" ]; }
enough() { : >"$share/enough"; }

# never_two [HOST THAWED_AT]: no host works in an attempt when another one has begun to work in the next one; a
# HOST that was paused until THAWED_AT in the first one has not for longer than the second that it takes to be told
# and killed.
never_two() {
    for file in "$share"/work/*; do
        name=$(basename "$file")
        sed "s/^/${name%%.*} ${name#*.} /" "$file"
    done | awk -v paused="${1:-}" -v thawed="${2:-0}" '
        $1 == 1 && $2 == paused && $3 >= thawed { if ($3 > late) late = $3; next }
        !($1 in first) || $3 < first[$1] { first[$1] = $3 }
        $3 > last[$1] { last[$1] = $3 }
        END {
            for (one in last)
                for (other in first)
                    if (other + 0 > one + 0 && last[one] >= first[other]) {
                        print "  attempt " one " worked until " last[one] ", attempt " other " from " first[other]
                        bad = 1
                    }
            if (late > thawed + 1000) { print "  " paused " worked " late - thawed " ms after its pause"; bad = 1 }
            exit bad
        }'
}

# followed HOST RANKS [SECONDS]: HOST becomes the master, and an attempt of so many ranks begins.
followed() {
    check "host $1 follows" wait_for "${3:-$FOLLOW_S}" says "$1" "attempt [2-9] begins, with $2 ranks on $2 hosts" || return 1
    check "its ranks start" wait_for 20 says "$1" "all $2 ranks have started"
}

# waits HOST MASTER: it asks to be taken back, and the running attempt goes on without it.
waits() {
    check "host $1 waits at host $2" wait_for 45 says "$2" "algo-$1 is back, and waits for the next attempt" || return 1
    check "it knows" wait_for 5 says "$1" "algo-$2 leads the job: this host waits"
    check "nobody leaves" equal "$(hosts code 1 2>/dev/null)$(hosts code 2 2>/dev/null)$(hosts code 3 2>/dev/null)" "${3:-}"
}
# goes_on ATTEMPT MASTER COUNT: a rank of the attempt before fails, and all of so many hosts work in this one.
goes_on() {
    : >"$share/fail-$(($1 - 1))-0"
    check "attempt $1 begins" wait_for 45 says "$2" "attempt $1 begins, with $3 ranks on $3 hosts" || return 1
    check "all of its hosts work" wait_for 20 works_in "$1" "$3"
}

# ended_well HOST...: they leave with 0 and have no failure file.
ended_well() {
    enough
    all_end "$PATIENCE" 0 "$@"
    for host in "$@"; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

# out HOST...: they leave with 73 by themselves, at the latest when they have awaited others as new masters, and looked
# for one.
out() {
    all_end 240 73 "$@"
    for host in "$@"; do
        check "host $host says what it is" holds "$(failure_of "$host")" 'host-lost: '
    done
}

the_first_host_is_killed() {
    begin_work 3 || return
    hosts kill 1
    followed 2 2 || return
    ended_well 2 3
    check "one attempt at a time" never_two
    check "the new master judges" holds "$(hosts log 2)" 'all 2 ranks ended with 0; attempt 2 of 6'
    check "nothing stays in the folder" equal "$(find "$share/checkpoints" -name '.ringmaster*')" ''
}

# Training goes on from the checkpoint, and the new first host has the model.
the_first_host_of_a_training_is_killed() {
    begin 3 -- train --data synthetic --synthetic-images 120 --model resnet20 --image-size 32 --batch-size 8 \
        --epochs 5 --eval-every 0 --report-every 1 --resume none --checkpoint-dir /opt/ml/checkpoints
    check "there is a checkpoint within 30 s" wait_for 30 has_checkpoint || return
    hosts kill 1
    all_end 120 0 2 3 || return
    log=$(hosts log 2)
    check "it went on from its checkpoint" holds "$log" 'resumed from /opt/ml/checkpoints/step-'
    check "it did not begin again" lacks "$log" 'train step=1 '
    check "with two ranks" holds "$log" 'all 2 ranks ended with 0; attempt 2 of 6'
    check "the model is at the new first host" test -s "$(hosts opt 2)/model/model.safetensors"
}
has_checkpoint() { [ -n "$(find "$share/checkpoints" -name 'step-*.safetensors')" ]; }

# All its processes stand, and wake up when the others have gone on: it is a worker of the next attempt.
the_first_host_is_paused() {
    begin_work 3 || return
    hosts freeze 1
    followed 2 2 || return
    sleep 1
    thawed=$(now_ms)
    hosts thaw 1
    waits 1 2 || return
    check "it says why" says 1 '1 of the 3 hosts of attempt 1 are here'
    check "attempt 2 goes on without it" works_in 2 2
    goes_on 3 2 3 || return
    ended_well 1 2 3
    check "one attempt at a time" never_two algo-1 "$thawed"
}

# From then on it is the last one to become the master again.
the_first_host_comes_back_and_leads_again() {
    begin_work 3 || return
    hosts freeze 1
    followed 2 2 || return
    thawed=$(now_ms)
    hosts thaw 1
    waits 1 2 || return
    goes_on 3 2 3 || return
    hosts kill 2
    check "host 3 leads" wait_for "$FOLLOW_S" says 3 'attempt 4 begins, with 2 ranks on 2 hosts' || return
    check "both work" wait_for 20 works_in 4 2
    ended_well 1 3
    check "one attempt at a time" never_two algo-1 "$thawed"
}

the_first_host_is_cut_off() {
    begin_work 3 || return
    hosts cut 1
    followed 2 2 45 || return
    out 1
    hosts mend 1
    ended_well 2 3
    check "one attempt at a time" never_two
}

# It ends what ran, waits, and hears how the job ends where no other attempt comes.
a_paused_worker_waits_for_the_end() {
    begin_work 3 || return
    hosts freeze 3
    followed 1 2 45 || return
    thawed=$(now_ms)
    hosts thaw 3
    waits 3 1 || return
    check "it works in no attempt" works_in 2 2
    ended_well 1 2 3
    check "one attempt at a time" never_two algo-3 "$thawed"
}

a_worker_that_was_cut_off_has_a_part_in_the_next_attempt() {
    begin_work 3 || return
    hosts cut 3
    followed 1 2 45 || return
    hosts mend 3
    waits 3 1 || return
    goes_on 3 1 3 || return
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# It remembers nothing, and finds a master that is not the first host.
a_container_that_was_started_again_has_a_part_in_the_next_attempt() {
    begin_work 4 || return
    hosts kill 1
    followed 2 3 || return
    hosts kill 4
    check "they go on without it" wait_for 45 says 2 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    works_again 4
    waits 4 2 137 || return
    goes_on 4 2 3 || return
    ended_well 2 3 4
    check "one attempt at a time" never_two
}

# Two of five, lost and back: a roll of four after one of two.
a_roll_grows_by_more_than_it_had() {
    begin_work 4 || return
    hosts kill 4
    check "three go on" wait_for 45 says 1 'attempt 2 begins, with 3 ranks on 3 hosts' || return
    check "they work" wait_for 20 works_in 2 3
    hosts kill 3
    check "two go on" wait_for 45 says 1 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "they work" wait_for 20 works_in 3 2
    works_again 3
    works_again 4
    waits 3 1 || return
    waits 4 1 || return
    goes_on 4 1 4 || return
    hosts kill 1
    check "the second goes on with three" wait_for "$FOLLOW_S" says 2 'attempt 5 begins, with 3 ranks on 3 hosts' || return
    check "they work" wait_for 20 works_in 5 3
    ended_well 2 3 4
    check "one attempt at a time" never_two
}

# The new master is one in full: it tries again, and a stop of any host reaches all.
the_new_master_tries_again_and_is_stopped() {
    begin_work 3 || return
    hosts kill 1
    followed 2 2 || return
    : >"$share/fail-2-1"
    check "another attempt begins" wait_for 30 says 2 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "its ranks work" wait_for 20 works_in 3 2
    check "one attempt at a time" never_two
    hosts stop 3
    enough
    all_end "$PATIENCE" 143 2 3
    all_name 'stopped on request at algo-3' 2 3
}

# Between two masters, too.
a_stop_while_hosts_gather() {
    begin_work 3 || return
    hosts kill 1
    check "the hosts gather" wait_for 10 says 3 'joined algo-2' || return
    hosts stop 3
    all_end 20 143 2 3
    check "no attempt followed" works_in 2 0
}

# It would make two masters of two. It asks for the first one for a minute.
of_two_hosts_none_follows() {
    begin_work 2 || return
    hosts kill 1
    all_end 90 73 2
    check "it says why" says 2 'may not be more than half'
    all_name 'no master was there within 60 s' 2
    check "nobody worked on" works_in 2 0
}

# Without the second one going on is going on alone, which the first one may.
of_two_hosts_the_first_goes_on() {
    begin_work 2 || return
    hosts cut 2
    check "the first goes on" wait_for 45 says 1 'attempt 2 begins, with 1 ranks on 1 hosts' || return
    check "its rank works" wait_for 20 works_in 2 1
    out 2
    ended_well 1
    check "one attempt at a time" never_two
}

folders_that_are_not_shared_are_told_of() {
    ring 3
    start_all -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1 -e RINGMASTER_FAILOVER=1 -- train -- true
    all_end "$PATIENCE" 65 1 2 3
    all_name 'RINGMASTER_FAILOVER=1 needs one folder of checkpoints for all hosts' 1 2 3
    all_name 'does not find there what algo-' 1 2 3
    all_name '/opt/ml/checkpoints' 1 2 3
    for host in $everyone; do
        check "nothing stays in the folder of host $host" equal \
            "$(find "$(hosts opt "$host")/checkpoints" -name '.ringmaster*')" ''
    done
}

all_hosts_need_it_alike() {
    ring 3
    mkdir "$share/checkpoints"
    for host in $everyone; do
        set -- -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1 -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
        [ "$host" = 3 ] || set -- "$@" -e RINGMASTER_FAILOVER=1
        hosts start "$host" "$@" -- train -- true
    done
    all_end "$PATIENCE" 65 1 2 3
    all_name 'RINGMASTER_FAILOVER is set on the master, and not there' 1 2 3
}

# --- more hosts -------------------------------------------------------------------------------

# parted HOSTS AWAY MASTER STAY GO...: of so many hosts those from AWAY on are cut off together from the others;
# MASTER's side goes on with STAY ranks, the hosts GO leave.
parted() {
    total=$1 away=$2 master=$3 left=$4
    shift 4
    begin_work "$total" || return
    # shellcheck disable=SC2046  # numbers
    hosts part $(seq "$away" "$total")
    check "host $master goes on" wait_for 90 says "$master" "attempt [2-9] begins, with $left ranks on $left hosts" || return
    check "its ranks start" wait_for 30 says "$master" "all $left ranks have started"
    out "$@"
    sleep 1
    stay=
    for host in $everyone; do
        case " $* " in *" $host "*) ;; *) stay="$stay $host" ;; esac
    done
    # shellcheck disable=SC2086  # numbers
    ended_well $stay
    check "one attempt at a time" never_two
}

three_hosts_part() {
    parted 3 3 1 2 3
    parted 3 2 2 2 1
}
five_hosts_part() {
    parted 5 5 1 4 5
    parted 5 4 1 3 4 5
    parted 5 3 3 3 1 2
    parted 5 2 2 4 1
}
# Of two halves the old master's goes on.
eight_hosts_part() {
    parted 8 5 1 4 5 6 7 8
    parted 8 4 4 5 1 2 3
    parted 8 2 2 7 1
}

# The first two at once, and then the third.
masters_are_lost_one_after_the_other() {
    begin_work 5 || return
    hosts kill 1
    hosts kill 2
    check "the third goes on" wait_for "$APART_S" says 3 'attempt 2 begins, with 3 ranks on 3 hosts' || return
    check "its ranks work" wait_for 20 works_in 2 3
    hosts kill 3
    check "the fourth goes on" wait_for "$APART_S" says 4 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "its ranks work" wait_for 20 works_in 3 2
    ended_well 4 5
    check "one attempt at a time" never_two
}

# No part has more than half.
in_three_parts_nobody_goes_on() {
    begin_work 5 || return
    hosts part 4 5
    hosts cut 3
    out 1 2 3 4 5
    check "one attempt at a time" never_two
}

a_paused_master_of_eight() {
    begin_work 8 || return
    hosts freeze 1
    followed 2 7 30 || return
    thawed=$(now_ms)
    hosts thaw 1
    waits 1 2 || return
    goes_on 3 2 8 || return
    ended_well 1 2 3 4 5 6 7 8
    check "one attempt at a time" never_two algo-1 "$thawed"
}

three='the_first_host_is_killed the_first_host_of_a_training_is_killed the_first_host_is_paused
    the_first_host_comes_back_and_leads_again the_first_host_is_cut_off a_paused_worker_waits_for_the_end
    a_worker_that_was_cut_off_has_a_part_in_the_next_attempt
    a_container_that_was_started_again_has_a_part_in_the_next_attempt a_roll_grows_by_more_than_it_had the_new_master_tries_again_and_is_stopped
    a_stop_while_hosts_gather of_two_hosts_none_follows of_two_hosts_the_first_goes_on
    folders_that_are_not_shared_are_told_of all_hosts_need_it_alike'
more='three_hosts_part five_hosts_part eight_hosts_part masters_are_lost_one_after_the_other
    in_three_parts_nobody_goes_on a_paused_master_of_eight'
[ -n "${RINGMASTER_LONG:-}" ] || more=
CASES=${CASES:-$three $more}

case_ends() { check "nothing is left running" equal "$(hosts left)" 0; }
run_cases
finish
