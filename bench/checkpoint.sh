#!/bin/sh
# Measures what checkpoints cost in training on CPU cores: how long one blocks the steps, and how
# much longer an epoch with four of them takes than one without. Several programs run in turns, so
# that other load affects all alike.
#
#     sh bench/checkpoint.sh
#     RINGTRAIN="old/ringtrain new/ringtrain" ROUNDS=5 sh bench/checkpoint.sh
#     MODEL=vgg16 SIZE=64 BATCH=4 DIR=/mnt/efs sh bench/checkpoint.sh
#
# DIR is the folder for checkpoints. Prints for each turn, and as medians: milliseconds per step,
# milliseconds that a checkpoint blocks the steps, and seconds of the epoch with and without them.
set -u
cd "$(dirname "$0")/.." || exit 2

MODEL=${MODEL:-resnet50}
SIZE=${SIZE:-64}
BATCH=${BATCH:-8}
ROUNDS=${ROUNDS:-3}
STEPS=${STEPS:-20}
RINGTRAIN=${RINGTRAIN:-build/release/bin/ringtrain}
. bench/priority.sh

fail() {
    echo "checkpoint.sh: $1" >&2
    exit 1
}

dir=$(mktemp -d) || exit 1
kept=$(mktemp -d "${DIR:-$dir}/kept.XXXXXX") || exit 1
trap 'priority_end; rm -rf "$dir" "$kept"' EXIT
trap 'exit 1' INT TERM

# turn PROGRAM STEPS: trains with a checkpoint every STEPS steps and prints "seconds
# checkpoint_seconds" of the first of two epochs.
turn() {
    rm -rf "$dir/model" "${kept:?}"/*
    $PRIORITY "$1" train --model "$MODEL" --data synthetic --synthetic-images $((STEPS * BATCH)) \
        --image-size "$SIZE" --batch-size "$BATCH" --epochs 2 --validation none --resume none \
        --eval-every 0 --report-every 1000000 --checkpoint-every "$2" --checkpoint-dir "$kept" \
        --model-dir "$dir/model" --log metrics >"$dir/out" 2>"$dir/log" ||
        fail "$1: $(tail -1 "$dir/log")"
    sed -n 's/^epoch .*epoch=1 .*seconds=\([0-9.]*\) .*checkpoint_seconds=\([0-9.]*\).*/\1 \2/p' \
        "$dir/out" | grep . || fail "$1 prints no time of an epoch"
}

name() {
    echo "$dir/$(echo "$1" | tr / _)"
}

echo "$MODEL, $SIZE px, batch $BATCH, $STEPS steps: ms of a step, ms a checkpoint, s of the epoch with, s without"
round=0
while [ $round -lt "$ROUNDS" ]; do
    round=$((round + 1))
    for program in $RINGTRAIN; do
        with=$(turn "$program" $((STEPS / 4))) || exit 1
        without=$(turn "$program" 0) || exit 1
        # The checkpoint at the end of the epoch is written in either case.
        echo "$with $without" | awk -v n="$STEPS" \
            '{ printf "%.0f %.0f %.2f %.2f\n", 1000 * ($3 - $4) / n, 1000 * $2 / 4, $1, $3 }' \
            >"$dir/line" && cat "$dir/line" >>"$(name "$program")"
        echo "  $program $(cat "$dir/line")"
    done
done
for program in $RINGTRAIN; do
    set -- 1 2 3 4
    echo "  median $program: $(for k in "$@"; do
        sort -n -k "$k,$k" "$(name "$program")" |
            awk -v k="$k" '{ v[NR] = $k } END { printf "%s ", v[int((NR + 1) / 2)] }'
    done)"
done
