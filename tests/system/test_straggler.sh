#!/bin/sh
# The first host's log names the rank for which all others wait, once, and why: one that computes slowly, one
# that waits for data, one that falls behind; and none where ranks are alike. A host says of its own rank that it
# is late, by what it has shown before.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

# How long a rank has to be slow until it is named: two windows, and a beat for each host (outcome/pace.h).
NAMED=45 WINDOW=18

# Three ranks of one thread on synthetic pictures, for longer than the test.
train() {
    ring 3
    start_all -- train --data synthetic --synthetic-images 1200 --model resnet20 --image-size 32 \
        --batch-size 16 --threads 1 --data-threads 1 --steps 100000 --eval-every 0 --report-every 20 \
        --resume none
    check "training begins" wait_for "$PATIENCE" says 'train step=20 '
}
says() { hosts log 1 | grep -q "$1"; }
named() { hosts log 1 | grep -c 'straggler on' || true; }
named_once() {
    hosts log 1 | grep 'straggler on' | sed 's/^/  /'
    check "it is named once" equal "$(named)" 1
}

# A quarter of the time it runs, three quarters it does not: as on a processor that others have.
slow_down() {
    while :; do
        signal_program "$1" STOP "$2"
        sleep 0.3
        signal_program "$1" CONT "$2"
        sleep 0.1
    done
}
brake() {
    slow_down "$@" 2>/dev/null &
    brake=$!
}
release() {
    [ -z "$brake" ] || { kill "$brake" && wait "$brake" 2>/dev/null; }
    brake=
}
brake=
case_ends() { release; }

a_slow_rank_is_named() {
    train
    brake 2 ringtrain
    check "it is named" wait_for "$((2 * NAMED))" says 'straggler on algo-2: the others wait for rank 1: a step takes '
    events=$(hosts opt 1)/output/data/events-algo-1.jsonl
    check "it is an event" wait_for 5 grep -q '"event":"straggler","which":"algo-2","rank":1,"behind":false' "$events"
    sleep "$WINDOW"
    named_once
}

ranks_alike_are_not_named() {
    train
    sleep "$NAMED"
    check "nobody is named" equal "$(named)" 0
}

# Any program that marks its steps, of which none waits for another.
a_rank_that_falls_behind_is_named() {
    ring 2
    start_all -e "TEST_PAUSE=0.05" -- train -- python3 "$system/steps.py"
    check "it is named" wait_for "$((2 * NAMED))" says 'straggler on algo-2: rank 1 is behind: step '
    sleep "$WINDOW"
    named_once
}

# Of a host alone, whose first process has fast clocks (haste.c): eight seconds of steps are eighty to it, of which it
# learns how long its rank is silent. It ends nothing, and is told once.
a_rank_that_is_late_is_told_of() {
    ring 1
    start_all -e LD_PRELOAD="$(dirname "$RINGMASTER_BIN")/tests/haste.so" -e RINGMASTER_STALL_SECONDS=7200 \
        -e TEST_PAUSE=0.1 -e "TEST_REST=$share/enough" -- train -- python3 "$system/steps.py"
    check "it is told of" wait_for "$PATIENCE" says 'rank 0 has shown no progress for [0-9]* s, ten times as long as ever before; its threads: pid [0-9]* python3: '
    sleep 1
    : >"$share/enough"
    all_end "$PATIENCE" 0 1
    hosts log 1 | grep 'no progress' | cut -c 1-120 | sed 's/^/  /'
    check "it is told of once" equal "$(hosts log 1 | grep -c 'ten times as long')" 1
}

CASES=${CASES:-a_slow_rank_is_named a_rank_that_falls_behind_is_named ranks_alike_are_not_named
    $([ "$DRIVER" = docker ] || echo a_rank_that_is_late_is_told_of)}
run_cases
finish
