#!/bin/sh
# Tests Ctrl-C during a training: the trainer answers at once and stops after the step, a start-up
# ends at once, and a second Ctrl-C ends the step too.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
train="$ringtrain train --data synthetic --validation none --log metrics
    --threads 1 --data-threads 1"

# begin FLAGS...: starts a training in the background; its process ID is $pid. A shell starts such
# processes with SIGINT ignored.
begin() {
    : >"$work/out"
    : >"$work/err"
    # shellcheck disable=SC2086  # a list
    $train --model-dir "$work/m" --checkpoint-dir "$work/c" --report-every "${every:-1}" "$@" \
        >"$work/out" 2>"$work/err" &
    pid=$!
}

# ended CODE: the training ends within two minutes, with exit code CODE.
ended() {
    checks=$((checks + 1))
    got=0
    timeout 120 tail --pid="$pid" -f /dev/null || { kill -KILL "$pid"; fail "runs on"; }
    wait "$pid" || got=$?
    [ "$got" = "$1" ] || { cat "$work/err" >&2; fail "exit code $got, not $1"; }
}

# held: the training stands still until it gets SIGCONT; fails if it has ended.
held() {
    kill -STOP "$pid" 2>/dev/null || return 1
    until { read -r _ _ state _ <"/proc/$pid/stat"; } 2>/dev/null && [ "$state" = T ]; do
        [ "${state:-Z}" != Z ] || return 1
    done
}

echo "while it starts, there is nothing to save"
# The first values of so many weights take seconds.
begin --model resnet152 --batch-size 2
heard "$work/err" 'training images' || fail "no first line"
kill -INT "$pid"
ended 143
says "stopped before the first step"
[ ! -s "$work/out" ] || fail "a step was made"

echo "within a step: answered at once, then a checkpoint and how to go on"
begin --model resnet20 --batch-size 8 --steps 100000
heard "$work/out" '^train step=3 ' || fail "no third step"
kill -INT "$pid"
heard "$work/err" '^stopping after this step; press Ctrl-C again' || fail "no answer"
ended 143
steps=$(sed -n \
    's/.*stopped on request after step \([0-9]*\); the same command goes on from there.*/\1/p' \
    "$work/err")
[ -f "$work/c/step-$(printf %09d "${steps:-0}").safetensors" ] ||
    fail "no checkpoint of step $steps"
# shellcheck disable=SC2086  # a list
code 0 $train --model-dir "$work/m" --checkpoint-dir "$work/c" --model resnet20 --batch-size 8 \
    --steps $((steps + 1))
says "resumed from"

echo "a long time to the next report is foretold"
rm -rf "$work/c"
every=90000 begin --model resnet20 --batch-size 8 --steps 100000
heard "$work/err" \
    'at that speed the report of step 90000 comes in [0-9:]*, and the last step, 100000, ends in [0-9:]*' ||
    fail "nothing about the time"
kill -INT "$pid"
ended 143

echo "a second one ends it at once, by the signal; one that comes twice at once is one"
rm -rf "$work/c"
begin --model resnet50 --batch-size 16 --steps 1000
heard "$work/out" '^train step=1 ' || fail "no first step"
kill -INT "$pid" "$pid"
heard "$work/err" '^stopping after this step' || fail "no answer"
# Within the step it stands still until the next signal cannot be taken for the same Ctrl-C.
if held && ! grep -q '^train step=2 ' "$work/out"; then
    sleep 0.4
    kill -INT "$pid"
    kill -CONT "$pid"
    ended 130
    [ ! -e "$work/c/step-000000002.safetensors" ] || fail "a checkpoint"
else
    kill -CONT "$pid" 2>/dev/null || true
    ended 143
    skip_part "a second Ctrl-C: the step was over by then"
fi
