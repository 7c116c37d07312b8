#!/bin/sh
# Kills a training with SIGKILL several times while a checkpoint is written in the background: the
# training resumes, and ends with the same bits as one that was never killed.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"

steps=20
flags="--model resnet50 --data synthetic --synthetic-images 1000 --image-size 32 --batch-size 4
    --threads 1 --data-threads 1 --log metrics --report-every 1 --validation none --steps $steps
    --checkpoint-every 1"

echo "a run that is left alone"
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" train $flags --model-dir "$work/whole" --checkpoint-dir "$work/whole.kept"

# written: succeeds if the partial file of a checkpoint exists.
written() {
    set -- "$work"/kept/step-*.partial-*
    [ -e "$1" ]
}

# runs: succeeds unless the training has ended. A shell also sends signals to a child that has.
runs() { { read -r _ _ state _ <"/proc/$pid/stat"; } 2>/dev/null && [ "$state" != Z ]; }

echo "killed in the middle of a write, four times"
kills=0 cut=0
while [ "$kills" -lt 4 ]; do
    # shellcheck disable=SC2086
    "$ringtrain" train $flags --model-dir "$work/model" --checkpoint-dir "$work/kept" \
        >"$work/run.out" 2>"$work/run.err" &
    pid=$!
    heard "$work/run.err" ' checkpoint ' || {
        kill -KILL "$pid"
        cat "$work/run.err"
        fail "no checkpoint"
    }
    # The next checkpoint takes a while to write: it has 180 MiB. The run stands still from when its
    # file is seen, so that the kill meets the write even if this script is late.
    while runs; do
        written || continue
        kill -STOP "$pid" 2>/dev/null || break
        ! written || break
        kill -CONT "$pid" 2>/dev/null || break
    done
    kill -KILL "$pid" 2>/dev/null || break
    wait "$pid" || :
    kills=$((kills + 1))
    if written; then cut=$((cut + 1)); fi
done
checks=$((checks + 1))
[ "$cut" -gt 0 ] || fail "no kill met a write"
echo "  $cut of $kills kills met a write"

# shellcheck disable=SC2086
code 0 "$ringtrain" train $flags --model-dir "$work/model" --checkpoint-dir "$work/kept"
says "resumed from $work/kept/step-"
same_weights "$work/whole/model.safetensors" "$work/model/model.safetensors" exact ""
checks=$((checks + 1))
if written; then fail "a killed write's file is left"; fi
