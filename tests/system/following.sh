# What tests of jobs that lose hosts share (test_failover.sh, test_comeback.sh, test_started_anew.sh): programs that say
# when they run, and how a job goes on. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand

# From the last heartbeat of a master that is lost to the next attempt's begin, where all others come: a lease and
# four seconds to end. A worker is lost at the end of a lease, and from there on it is as long. Both in ms, and a second
# for the attempt to begin.
FOLLOW_MS=15000
WITHOUT_MS=25000
# The same where the container of a host was killed.
KILLED_MS=4000

# Whether another host than the first may be the master; the fewest hosts.
failover=1
least=1

# begin HOSTS [-e NAME=VALUE]... COMMAND...: with one folder of checkpoints, which all share.
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
    hosts start "$one" -e RINGMASTER_RESTARTS=5 -e RINGMASTER_SHRINK=1 -e "RINGMASTER_FAILOVER=$failover" \
        -e "RINGMASTER_MIN_HOSTS=$least" -e "TEST_SHARE=$share" -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" "$@"
}

# What each rank does: it says ten times a second that it runs, in a file a host and attempt, until it is told to
# end, or to fail; SIGTERM it only writes down. The machine's uptime needs no process to be read.
works='heard() { : >"$TEST_SHARE/heard-$RINGMASTER_ATTEMPT-$RANK"; }; trap heard TERM
    echo "attempt $RINGMASTER_ATTEMPT of $WORLD_SIZE on $SM_HOSTS"
    while [ ! -e "$TEST_SHARE/enough" ]; do
        [ ! -e "$TEST_SHARE/fail-$RINGMASTER_ATTEMPT-$RANK" ] || kill -s KILL $$
        read -r now _ </proc/uptime; echo "$now" >>"$TEST_SHARE/work/$RINGMASTER_ATTEMPT.$SM_CURRENT_HOST"; sleep 0.1
    done'
begin_work() {
    begin "$1" -- train -- sh -c "$works"
    work_begins "$1"
}
work_begins() {
    check "all ranks have started" wait_for "$PATIENCE" says 1 "all $1 ranks have started" || return 1
    check "all ranks work" wait_for "$PATIENCE" works_in 1 "$1"
}
# works_again HOST: its container, which has been killed, is started anew, under its name.
works_again() { hosts wait "$PATIENCE" "$1" && begin_one "$1" -- train -- sh -c "$works"; }
works_in() { [ "$(find "$share/work" -name "$1.*" | wc -l)" -eq "$2" ]; }
enough() { : >"$share/enough"; }
# stopped_well ATTEMPT RANKS HOST...: all ranks have heard of the stop, and end then: with 0, as who saves and goes. (Who
# ends before it has heard has done its work, and the job's code is 0.)
stopped_well() {
    check "its $2 ranks have heard" wait_for "$PATIENCE" heard_in "$1" "$2"
    shift 2
    enough
    all_end "$PATIENCE" 143 "$@"
}
heard_in() { [ "$(find "$share" -maxdepth 1 -name "heard-$1-*" | wc -l)" -eq "$2" ]; }

# thaw HOST: how late the machine is from then on is measured, until the next fault or the end.
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

# never_two [HOST [ATTEMPT]]: no host works in an attempt when another one has begun to work in the next one; a HOST that
# was paused in ATTEMPT (1) has not after its thaw for longer than the second that it takes to be told and killed, and
# as much more as the machine was late.
never_two() {
    thaw_is_over
    for file in "$share"/work/*; do
        name=$(basename "$file")
        sed "s/^/${name%%.*} ${name#*.} /" "$file"
    done | awk -v paused="${1:-}" -v its="${2:-1}" -v thawed="${thawed:-0}" -v room="$((1000 + ${late_after_thaw:-0}))" '
        BEGIN { thawed *= 1000 }
        { $3 *= 1000 }
        $1 == its && $2 == paused && $3 >= thawed { if ($3 > late) late = $3; next }
        !($1 in first) || $3 < first[$1] { first[$1] = $3 }
        $3 > last[$1] { last[$1] = $3 }
        END {
            for (one in last)
                for (other in first)
                    if (other + 0 > one + 0 && last[one] >= first[other]) {
                        print "  attempt " one " worked until " last[one] ", attempt " other " from " first[other]
                        bad = 1
                    }
            if (late > thawed + room) { print "  " paused " worked " late - thawed " ms after its pause"; bad = 1 }
            exit bad
        }'
}

# lost COMMAND...: a host is lost by COMMAND.
lost() {
    thaw_is_over
    fault_begins
    "$@"
}

# followed HOST RANKS [MS]: HOST becomes the master, or stays it, and an attempt of so many ranks begins in time.
followed() {
    said_within "${3:-$FOLLOW_MS}" "$1" "attempt [2-9] begins, with $2 ranks on $2 hosts" || return 1
    check "its ranks start" wait_for "$PATIENCE" says "$1" "all $2 ranks have started"
}

# waits HOST MASTER: it asks to be taken back, and the running attempt goes on without it. What the master says of it may
# be of an earlier time; a host that was started anew has a log of its own.
waits() {
    check "host $1 waits" wait_for "$PATIENCE" says "$1" "algo-$2 leads the job: this host waits" || return 1
    check "host $2 knows" wait_for "$PATIENCE" says "$2" "algo-$1 is back, and waits for the next attempt"
    check "nobody leaves" equal "$(hosts code 1 2>/dev/null)$(hosts code 2 2>/dev/null)$(hosts code 3 2>/dev/null)" "${3:-}"
}
# goes_on ATTEMPT MASTER COUNT: a rank of the attempt before fails, and all of so many hosts work in this one.
goes_on() {
    : >"$share/fail-$(($1 - 1))-0"
    check "attempt $1 begins" wait_for "$PATIENCE" says "$2" "attempt $1 begins, with $3 ranks on $3 hosts" || return 1
    check "all of its hosts work" wait_for "$PATIENCE" works_in "$1" "$3"
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

# After each case.
case_ends() {
    failover=1
    least=1
    thawed=
    nothing_is_left
}
