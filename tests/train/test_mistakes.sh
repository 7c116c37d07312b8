#!/bin/sh
# Tests the pictures of a classifier's worst mistakes: they are in --out and in TensorBoard's event
# files, and two ranks write the same ones as one rank.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 80 40

# pictures FOLDER: prints the names of an evaluation's pictures.
pictures() {
    (cd "$1/pictures" && ls | tr '\n' ' ')
}

is() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "expected '$2', got '$1'"
}

# The network has hardly been trained, so it mistakes most pictures.
code 0 "$ringtrain" train $common --data "$data" --steps 2 --seed 5 --checkpoint-dir "$work/c" \
    --model-dir "$work/model" --out "$work/out1" --pictures 3 --tensorboard-dir "$work/events"
is "$(pictures "$work/out1")" "step-000000002-1.jpg step-000000002-2.jpg step-000000002-3.jpg "
for place in 1 2 3; do
    checks=$((checks + 1))
    grep -qa "pictures/$place" "$work"/events/eval/events.out.tfevents.* ||
        fail "no picture $place among the events"
done

code 0 "$ringtrain" eval --model-dir "$work/model" --data "$data" --out "$work/out2" --threads 1 \
    --data-threads 1 --pictures 64
count=$(find "$work/out2/pictures" -name 'step-*.jpg' | wc -l)
checks=$((checks + 1))
{ [ "$count" -ge 4 ] && [ "$count" -le 10 ]; } || fail "$count pictures"
code 0 "$ringtrain" eval --model-dir "$work/model" --data "$data" --out "$work/out3" --threads 1 \
    --data-threads 1 --pictures 0
[ ! -e "$work/out3/pictures" ] || fail "pictures that nobody wanted"

if can_mpirun; then
    code 0 mpirun $mpi -np 2 "$ringtrain" eval --model-dir "$work/model" --data "$data" \
        --out "$work/out4" --threads 1 --data-threads 1 --pictures 64
    is "$(pictures "$work/out4")" "$(pictures "$work/out2")"
    for picture in "$work"/out2/pictures/*; do
        cmp "$picture" "$work/out4/pictures/$(basename "$picture")" ||
            fail "two ranks show another $picture"
    done
fi
