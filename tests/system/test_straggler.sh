#!/bin/sh
# Stragglers: the first host's log names the rank for which all others wait, once, and why, and none
# where ranks are alike. test_behind.sh tests ranks that do not wait for each other.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

# Three single-threaded ranks train on synthetic images, for longer than the test takes.
train() {
    ring 3
    start_all -- train --data synthetic --synthetic-images 1200 --model resnet20 --image-size 32 \
        --batch-size 16 --threads 1 --data-threads 1 --steps 100000 --eval-every 0 \
        --report-every 20 --resume none
    check "training begins" wait_for "$PATIENCE" says 1 'train step=20 '
}

# brake HOST...: stops the hosts' trainers three quarters of the time, all at once, as on processors
# that are shared with others.
slow_down() {
    while kill -s STOP "$@"; do
        sleep 0.3
        kill -s CONT "$@"
        sleep 0.1
    done
}
trainers() {
    for host in "$@"; do
        for process in $(hosts pids "$host"); do
            case $(readlink "/proc/$process/exe") in */ringtrain) echo "$process" ;; esac
        done
    done
}
brake() {
    # shellcheck disable=SC2046  # numbers
    set -- $(trainers "$@")
    check "there is something to slow down" [ $# -gt 0 ] || return
    slow_down "$@" 2>/dev/null &
    brake=$!
}
release() {
    [ -z "$brake" ] || { kill "$brake" && wait "$brake"; } 2>/dev/null
    brake=
}
brake=
case_ends() { release; }

a_slow_rank_is_named() {
    train || return
    brake 2 || return
    check "it is named" wait_for "$((2 * NAMED))" says 1 \
        'straggler on algo-2: the others wait for rank 1: a step takes '
    events=$(hosts opt 1)/output/data/events-algo-1.jsonl
    check "it is an event" wait_for "$PATIENCE" \
        grep -q '"event":"straggler","which":"algo-2","rank":1,"behind":false' "$events"
    sleep "$WINDOW"
    named_once
}

# Training goes on to the end, but each step takes long: all ranks are slowed down, and other tests
# run at the same time.
ranks_alike_are_not_named() {
    train || return
    # shellcheck disable=SC2086  # numbers
    brake $everyone || return
    sleep "$NAMED"
    check "nobody is named" equal "$(named)" 0
    at=$(last_step)
    check "training goes on behind step $at" wait_for "$PATIENCE" goes_on "$at" || return
    for host in $everyone; do
        check "host $host runs" equal "$(hosts code "$host" 2>/dev/null)" ''
    done
}
last_step() { hosts log 1 | sed -n 's/.*] train step=\([0-9]*\) .*/\1/p' | tail -n 1; }
goes_on() { [ "$(last_step)" -gt "$1" ]; }

CASES=${CASES:-a_slow_rank_is_named ranks_alike_are_not_named}
run_cases
finish
