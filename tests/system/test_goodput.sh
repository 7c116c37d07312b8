#!/bin/sh
# Tests the account of a job's time (outcome/goodput.h) against times that the ranks record.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"

# Times are in seconds since the machine's boot. Rank 1 of the first attempt is killed three seconds
# after a checkpoint, which interrupts both ranks.
works='read -r now _ </proc/uptime; echo "$now" >"$TEST_SHARE/begun-$RINGMASTER_ATTEMPT-$RANK"
    exec python3 "$TEST_SHARE/program.py"'
program='import mmap, os, signal, struct, sys, time
share, attempt, rank = (
    os.environ["TEST_SHARE"], os.environ["RINGMASTER_ATTEMPT"], os.environ["RANK"])
slot = mmap.mmap(os.open(os.environ["RINGMASTER_PROGRESS"], os.O_RDWR), 64)
boot = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
def note(name):
    with open(f"{share}/{name}-{attempt}-{rank}", "w") as f:
        print(boot() / 1e9, file=f)
step, saved, pause = 0, 0, 0
def work(seconds):
    global step
    for _ in range(round(seconds * 10)):
        step += 1
        slot[:64] = struct.pack("=8Q", step, step, 300, 0, 0, 0, saved, pause)
        time.sleep(0.1)
work(2)
if attempt == "1":
    began = boot()
    time.sleep(1)
    saved = boot()
    pause = saved - began
    note("saved")
    work(3)
    if rank == "1":
        note("died")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
note("ended")
'

# last NAME ATTEMPT: the latest time that a rank of ATTEMPT recorded as NAME.
last() { cat "$share/$1-$2-"* | sort -n | tail -n 1; }
# member HOST PATH: prints the value at PATH in the goodput event of HOST.
member() {
    python3 - "$(hosts opt "$1")/output/data/events-algo-$1.jsonl" "$2" <<'PYTHON'
import json, sys
found = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "goodput"]
assert len(found) == 1, found
value = found[0]
for name in sys.argv[2].split("."):
    value = value[name]
print(value)
PYTHON
}
# near NAME TRUE WITHIN [HOST]: NAME in the account of HOST, the first by default, differs from TRUE
# by at most WITHIN seconds, plus the time that the machine was late.
near() {
    got=$(member "${4:-1}" "$1") || { check "there is an account" false; return 1; }
    lateness
    echo "  $1: $got s, by the stop-watch $2 s; the machine was late by $late ms"
    check "$1 is right" python3 -c 'import sys; got, true, within, late = map(float, sys.argv[1:])
sys.exit(abs(got - true) > within + late / 1000)' "$got" "$2" "$3" "$late"
}
minus() {
    python3 -c 'import sys; print(round(float(sys.argv[1]) - sum(map(float, sys.argv[2:])), 3))' \
        "$@"
}

begin() {
    ring 2
    echo "$program" >"$share/program.py"
    fault_begins
    start_all -e RINGMASTER_RESTARTS=2 -e RINGMASTER_METRICS=1 -e "TEST_SHARE=$share" -- \
        train -- sh -c "$works"
}

an_account_is_what_a_stop_watch_says() {
    begin
    all_end 60 0 1 2 || return
    first=$(last begun 1) saved=$(last saved 1) died=$(last died 1) \
        second=$(last begun 2) over=$(last ended 2)
    near checkpoints 1.0 0.2
    near lost.rank "$(minus "$died" "$saved")" 0.3
    near down.rank "$(minus "$second" "$died")" 0.5
    near useful "$(python3 -c "print(round($saved - $first - 1 + $over - $second, 3))")" 0.8
    near lost.host 0 0.001
    check "one failure" equal "$(member 1 failures)" 1
    check "the log tells" says 1 'goodput [0-9.]* %: useful .* lost .*(rank .*), down .*(rank '
    check "only the first host tells" lacks "$(hosts log 2)" 'goodput'
    metrics=$(cat "$(hosts opt 1)/output/data/metrics-algo-1.prom")
    for name in 'goodput_ratio ' 'useful_seconds ' 'startup_seconds ' 'checkpoint_seconds ' \
        'lost_seconds{cause="rank"} ' 'down_seconds{cause="host"} '; do
        check "there is a metric $name" holds "$metrics" "ringmaster_$name"
    done
}

# The next master knows what the lost master had counted.
an_account_outlives_its_master() {
    ring 3
    mkdir -p "$share/checkpoints"
    chmod 1777 "$share/checkpoints"
    echo "$program" >"$share/program.py"
    fault_begins
    start_all -e RINGMASTER_RESTARTS=3 -e RINGMASTER_SHRINK=1 -e RINGMASTER_FAILOVER=1 \
        -e "TEST_SHARE=$share" -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" \
        -- train -- sh -c "$works"
    check "the second attempt begins" wait_for 60 test -e "$share/begun-2-0" || return
    sleep 1
    read -r killed _ </proc/uptime
    hosts kill 1
    all_end 60 0 2 3 || return
    near lost.rank "$(minus "$(last died 1)" "$(last saved 1)")" 0.3 2
    near down.host "$(minus "$(last begun 3)" "$killed")" 0.6 2
    check "two failures" equal "$(member 2 failures)" 2
}

CASES=${CASES:-an_account_is_what_a_stop_watch_says an_account_outlives_its_master}

# lib.sh calls this after each case.
case_ends() { nothing_is_left; }
run_cases
finish
