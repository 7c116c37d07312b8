#!/bin/sh
# Tests photographs from public data sets: `inspect data` reports what other programs counted, and
# training takes all kinds of pictures. RINGMASTER_DATA names the folder of the sets (tests/run.sh).
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"

# here SET: succeeds, with its folder in $real, if SET is available; else it reports a skipped part.
here() {
    real=${RINGMASTER_DATA:-}/$1
    [ -n "${RINGMASTER_DATA:-}" ] && [ -d "$real" ] || {
        skip_part "RINGMASTER_DATA does not lead to $1"
        return 1
    }
}

# printed TEXT: standard output contains TEXT.
printed() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/out" || { cat "$work/out" "$work/err"; fail "not printed: $1"; }
}

# some FROM TO PER: makes a folder TO with the first PER pictures of each class of FROM.
some() {
    for class in "$1"/*/; do
        mkdir -p "$2/$(basename "$class")"
        find "$class" -name '*.jpg' | sort | head -n "$3" |
            xargs -I {} cp {} "$2/$(basename "$class")"
    done
}

# first_loss CLASSES SET FLAGS...: the loss of the first step, with untrained weights, is near the
# logarithm of CLASSES.
first_loss() {
    classes=$1 set=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    code 0 "$ringtrain" train $common --data "$set" --report-every 1 --resume none \
        --model-dir "$work/model" --checkpoint-dir "$work/kept" "$@"
    loss=$(losses "$work/out" | sed -n '1s/.* //p')
    echo "first loss of $classes classes: $loss"
    awk -v loss="$loss" -v n="$classes" \
        'BEGIN { d = loss - log(n); exit !(loss > 0 && d > -1 && d < 1.5) }' || {
        cat "$work/out"
        fail "first loss $loss of $classes classes"
    }
}

if here flowers; then
    echo "flowers: counted, with the duplicates that are in it; an epoch of some"
    code 66 "$ringtrain" inspect data "$real"
    printed "$real/train: 3457 pictures in 5 classes"
    printed "$real/val: 860 pictures in 5 classes"
    printed "  width 128 to 128, height 128 to 128 pixels"
    printed "       842  dandelion"
    printed "       146  sunflower"
    printed "found: 0 bad, 0 damaged, 0 left out (0 of them pictures), 6 duplicates (4 times in several classes, 2 times in several sets)"
    some "$real/train" "$work/flowers/train" 16
    some "$real/val" "$work/flowers/val" 8
    first_loss 5 "$work/flowers" --image-size 32 --epochs 1
    [ "$(losses "$work/out" | wc -l)" = 10 ] || fail "not 10 steps of 8 of 80 pictures"
    grep -q '^eval .* images=40' "$work/out" || {
        cat "$work/out"
        fail "not all of 40 pictures scored"
    }
fi

if here cifar10-jpg; then
    echo "cifar10: counted; steps on some"
    code 0 "$ringtrain" inspect data "$real/test"
    printed "$real/test: 10000 pictures in 10 classes"
    printed "  width 32 to 32, height 32 to 32 pixels"
    for class in airplane automobile bird cat deer dog frog horse ship truck; do
        printed "      1000  $class"
    done
    printed "found: 0 bad, 0 damaged, 0 left out"
    some "$real/test" "$work/cifar" 8
    first_loss 10 "$work/cifar" --validation none --steps 4
fi

if here imagenet-sample; then
    echo "imagenet: a picture a class, of all sizes, eleven of them gray, some with EXIF: counted, and an epoch of them"
    code 0 "$ringtrain" inspect data "$real"
    printed "$real: 334 pictures in 334 classes"
    printed "  width 100 to 2400, height 97 to 1600 pixels"
    printed "found: 0 bad, 0 damaged, 0 left out (0 of them pictures), 0 duplicates"
    first_loss 334 "$real" --validation none --image-size 32 --batch-size 32 --epochs 1
    [ "$(losses "$work/out" | wc -l)" = 10 ] || fail "not 10 steps of 32 of 334 pictures"
    ! grep -qE 'bad_files|damaged' "$work/out" "$work/err" || fail "faults in a sound set"
fi
