#!/bin/sh
# Measures the start-up of training: seconds until the first step begins, by part, and of the first
# step, for a classifier and a detector on sets that it generates. Several programs run in turns, so
# that other load affects all alike. Prints each turn and the median of each program.
#
#     sh bench/start.sh
#     RINGTRAIN="old/ringtrain new/ringtrain" ROUNDS=7 sh bench/start.sh
#     MODELS=vgg16 sh bench/start.sh
#
# Programs must log "start-up took". Run as root, it has priority over other work.
set -u
cd "$(dirname "$0")/.." || exit 2

ROUNDS=${ROUNDS:-5}
MODELS=${MODELS:-resnet50 maskrcnn_resnet50_fpn}
RINGTRAIN=${RINGTRAIN:-build/release/bin/ringtrain}
. bench/priority.sh

fail() {
    echo "start.sh: $1" >&2
    exit 1
}

dir=$(mktemp -d) || exit 1
trap 'priority_end; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
first=${RINGTRAIN%% *}
"$first" prepare shapes --coco "$dir/coco" --train 16 --validation 1 --side 480 --long-side 640 \
    >"$dir/log" 2>&1 || fail "no set: $(tail -1 "$dir/log")"

# turn PROGRAM MODEL: trains for one step and prints "start data network weights step".
turn() {
    data=synthetic
    case $2 in maskrcnn*) data=$dir/coco ;; esac
    rm -rf "$dir/run"
    $PRIORITY "$1" train --model "$2" --data "$data" --validation none --batch-size 1 --steps 1 \
        --resume none --checkpoint-dir "$dir/run/checkpoints" --model-dir "$dir/run/model" \
        >"$dir/log" 2>&1 || fail "$1 $2: $(tail -1 "$dir/log")"
    sed -n 's/.*start-up took \([0-9.]*\) s: data \([0-9.]*\), network \([0-9.]*\), weights \([0-9.]*\); the first step \([0-9.]*\) s.*/\1 \2 \3 \4 \5/p' \
        "$dir/log" | grep . || fail "$1 logs no start-up"
}

for model in $MODELS; do
    echo "$model: seconds of start-up (data network weights), and of the first step"
    round=0
    while [ $round -lt "$ROUNDS" ]; do
        round=$((round + 1))
        for program in $RINGTRAIN; do
            line=$(turn "$program" "$model") || exit 1
            echo "$line" >>"$dir/$model.$(echo "$program" | tr / _)"
            echo "  $program $line"
        done
    done
    for program in $RINGTRAIN; do
        sort -n "$dir/$model.$(echo "$program" | tr / _)" |
            awk -v p="$program" '{ line[NR] = $0 }
                END { print "  median " p ": " line[int((NR + 1) / 2)] }'
    done
done
