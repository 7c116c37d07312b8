# What tests of jobs that lose hosts share (test_failover.sh, test_comeback.sh,
# test_started_anew.sh): a program that records when it runs, and checks of how a job continues.
# Source it after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154,SC2016  # lib.sh's variables; scripts that hosts expand

# The time in ms from the last heartbeat of a lost master to the begin of the next attempt, if all
# other hosts take part: a lease, four seconds for processes to end, and one to begin.
FOLLOW_MS=15000
# The same for a lost worker: it counts as lost at the end of a lease, and all of that follows.
WITHOUT_MS=25000
# The same where the container of a host was killed.
KILLED_MS=4000

failover=1 # another host than the first may be the master
least=1    # the fewest hosts that continue the job

# begin HOSTS [-e NAME=VALUE]... COMMAND...: starts a ring of HOSTS hosts, which share one folder of
# checkpoints.
begin() {
    ring_that_shares "$1"
    shift
    for host in $everyone; do
        begin_one "$host" "$@"
    done
}
ring_that_shares() {
    ring "$1"
    mkdir -p "$share/checkpoints" "$share/work"
    chmod 1777 "$share/checkpoints" "$share/work"
}
begin_one() {
    one=$1
    shift
    hosts start "$one" -e RINGMASTER_RESTARTS=5 -e RINGMASTER_SHRINK=1 \
        -e "RINGMASTER_FAILOVER=$failover" -e "RINGMASTER_MIN_HOSTS=$least" \
        -e "TEST_SHARE=$share" -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" "$@"
}

# The program of each rank: it writes the machine's uptime, which takes no process to read, five
# times a second to a file for its host and attempt, until a file tells it to end or to fail. It
# only records SIGTERM.
works='heard() { : >"$TEST_SHARE/heard-$RINGMASTER_ATTEMPT-$RANK"; }; trap heard TERM
    echo "attempt $RINGMASTER_ATTEMPT of $WORLD_SIZE on $SM_HOSTS"
    while [ ! -e "$TEST_SHARE/enough" ]; do
        [ ! -e "$TEST_SHARE/fail-$RINGMASTER_ATTEMPT-$RANK" ] || kill -s KILL $$
        read -r now _ </proc/uptime
        echo "$now" >>"$TEST_SHARE/work/$RINGMASTER_ATTEMPT.$SM_CURRENT_HOST"; sleep 0.2
    done'
begin_work() {
    begin "$1" -- train -- sh -c "$works"
    work_begins "$1"
}
work_begins() {
    check "all ranks have started" wait_for "$PATIENCE" says 1 "all $1 ranks have started" ||
        return 1
    check "all ranks work" wait_for "$PATIENCE" works_in 1 "$1"
}
# works_again HOST: its container, which has been killed, is started again under its name.
works_again() { hosts wait "$PATIENCE" "$1" && begin_one "$1" -- train -- sh -c "$works"; }
# works_in ATTEMPT HOSTS: so many hosts have worked in that attempt.
works_in() { [ "$(find "$share/work" -name "$1.*" | wc -l)" -eq "$2" ]; }
enough() { : >"$share/enough"; }
# stopped_well ATTEMPT RANKS HOST...: all ranks have received SIGTERM and then end with 0, like a
# program that saves its work first. (If a rank ended before the signal, its work would be done, and
# the exit code of the job 0.)
stopped_well() {
    check "its $2 ranks have heard" wait_for "$PATIENCE" heard_in "$1" "$2"
    shift 2
    enough
    all_end "$PATIENCE" 143 "$@"
}
heard_in() { [ "$(find "$share" -maxdepth 1 -name "heard-$1-*" | wc -l)" -eq "$2" ]; }

# thaw HOST: lets a paused host run, and measures how late the machine is until the next fault or
# the end of the case.
thaw() {
    fault_begins
    late_after_thaw=
    read -r thawed _ </proc/uptime
    hosts thaw "$1"
}
thaw_is_over() {
    [ -n "$thawed" ] && [ -z "$late_after_thaw" ] || return 0
    lateness
    late_after_thaw=$late
}
thawed=

# never_two [HOST [ATTEMPT]]: no host works in an attempt once another one has begun to work in the
# next. A HOST that was paused in ATTEMPT (default 1) may work for a second after it thaws, until it
# is told and killed, plus the time that the machine was late.
never_two() {
    thaw_is_over
    for file in "$share"/work/*; do
        name=$(basename "$file")
        sed "s/^/${name%%.*} ${name#*.} /" "$file"
    done | awk -v paused="${1:-}" -v its="${2:-1}" -v thawed="${thawed:-0}" \
        -v room="$((1000 + ${late_after_thaw:-0}))" '
        BEGIN { thawed *= 1000 }
        { $3 *= 1000 }
        $1 == its && $2 == paused && $3 >= thawed {
            if ($3 > late) late = $3
            next
        }
        !($1 in first) || $3 < first[$1] { first[$1] = $3 }
        $3 > last[$1] { last[$1] = $3 }
        END {
            for (one in last)
                for (other in first)
                    if (other + 0 > one + 0 && last[one] >= first[other]) {
                        print "  attempt " one " worked until " last[one] ", attempt " other \
                            " from " first[other]
                        bad = 1
                    }
            if (late > thawed + room) {
                print "  " paused " worked " late - thawed " ms after its pause"
                bad = 1
            }
            exit bad
        }'
}

# lost COMMAND...: COMMAND makes the job lose a host.
lost() {
    thaw_is_over
    fault_begins
    "$@"
}

# followed HOST RANKS [MS]: HOST becomes or remains the master, and an attempt of so many ranks
# begins in time.
followed() {
    said_within "${3:-$FOLLOW_MS}" "$1" "attempt [2-9] begins, with $2 ranks on $2 hosts" ||
        return 1
    check "its ranks start" wait_for "$PATIENCE" says "$1" "all $2 ranks have started"
}

# waits HOST MASTER [CODES]: HOST asks to be taken back, and the running attempt continues without
# it. The master's line may be of an earlier time; a host that was started again has a new log. No
# host has left, apart from those with the exit codes CODES.
waits() {
    check "host $1 waits" wait_for "$PATIENCE" says "$1" "algo-$2 leads the job: this host waits" ||
        return 1
    check "host $2 knows" wait_for "$PATIENCE" says "$2" \
        "algo-$1 is back, and waits for the next attempt"
    check "nobody leaves" equal \
        "$(for host in 1 2 3; do hosts code "$host" 2>/dev/null; done | tr -d '\n')" "${3:-}"
}
# goes_on ATTEMPT MASTER COUNT: a rank of the attempt before fails, and COUNT hosts work in ATTEMPT.
goes_on() {
    : >"$share/fail-$(($1 - 1))-0"
    check "attempt $1 begins" wait_for "$PATIENCE" says "$2" \
        "attempt $1 begins, with $3 ranks on $3 hosts" || return 1
    check "all of its hosts work" wait_for "$PATIENCE" works_in "$1" "$3"
}

# ended_well HOST...: the ranks end, and these hosts leave with 0 and without a failure file.
ended_well() {
    enough
    all_end "$PATIENCE" 0 "$@"
    for host in "$@"; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

# out HOST...: these hosts leave with 73 by themselves, at the latest when they have waited for
# others as new masters and have looked for one.
out() {
    all_end 240 73 "$@"
    for host in "$@"; do
        check "host $host says what it is" holds "$(failure_of "$host")" 'host-lost: '
    done
}

case_ends() {
    failover=1
    least=1
    thawed=
    nothing_is_left
}
