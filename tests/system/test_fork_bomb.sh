#!/bin/sh
# Tests a rank that leaves behind processes that fork without end (A17). Nothing else runs at the
# same time, as it takes every processor.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "these hosts have control groups made for them"

# The container of host 2, and then that of host 1, may have 200 processes. A rank leaves others
# behind, which fork without end, ignore SIGTERM and have sessions of their own. The job ends with
# the rank's exit code, and the files of its end are written once a process can be created for that.
a_fork_bomb_ends_with_its_rank() {
    for full in 2 1; do
        ring 2
        control_group pids 200 || { skip_case "no control group for processes here"; return; }
        for host in $everyone; do
            procs=$control/cgroup.procs
            [ "$host" = "$full" ] || procs=/dev/null
            hosts start "$host" -p "echo \$\$ >$procs" -- train -- sh -c "
                [ \$RANK = $((full - 1)) ] || exec sleep 60
                exec perl -e 'use POSIX; \$SIG{TERM} = q(IGNORE);
                    if (fork == 0) {
                        setpriority(0, 0, 19); while (1) { POSIX::setsid() if defined(fork) }
                    }
                    sleep 1; print qq(the cause\n); exit 7'"
        done
        all_end "$PATIENCE" 7 $everyone || return
        all_name "algo-$full rank $((full - 1)): exited with 7" $everyone
        all_name 'the cause' $everyone
        check "it was one" [ "$(sed -n 's/^max //p' "$control/pids.events")" -gt 100 ]
        check "nothing of it is left" equal "$(cat "$control/cgroup.procs")" ''
        check "what is written is not missed" lacks "$(hosts log "$full")" 'not written'
        check "the event log tells the end" holds \
            "$(tail -n 1 "$(hosts opt "$full")/output/data/events-algo-$full.jsonl")" \
            '"event":"verdict","code":7'
    done
}

CASES=${CASES:-a_fork_bomb_ends_with_its_rank}
run_cases
finish
