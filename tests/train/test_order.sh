#!/bin/sh
# Tests --order lanes: the global batches are the same for any number of ranks and after a resume in
# the middle of an epoch; settings that do not fit are refused.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 200 40
code 0 "$ringtrain" prepare folder "$data" "$work/set" --shards 7
lanes="--order lanes --lanes 4 --shuffle-window 16"

# run NAME FLAGS...
run() {
    name=$1
    shift
    code 0 "$ringtrain" train $common --data "$work/set" --validation none --report-every 1 \
        --model-dir "$work/$name" --checkpoint-dir "$work/$name.checkpoints" --seed 3 "$@"
    cp "$work/out" "$work/$name.out"
}

echo "lanes are another order than uniform, the same in each run"
run uniform --steps 60 --epochs 3
run lanes --steps 60 --epochs 3 $lanes
run again --steps 60 --epochs 3 $lanes --data-threads 3
same_model lanes again
[ "$(losses "$work/uniform.out")" != "$(losses "$work/lanes.out")" ] || fail "the same order"
run window --steps 60 --epochs 3 --order lanes --lanes 4 --shuffle-window 17
[ "$(losses "$work/window.out")" != "$(losses "$work/lanes.out")" ] ||
    fail "the same order with another window"

echo "a run that is stopped in the middle of an epoch goes on where it was"
run begun --steps 33 --epochs 3 --schedule constant $lanes
run begun --steps 60 --epochs 3 --schedule constant $lanes
prints 'resumed from'
run whole --steps 60 --epochs 3 --schedule constant $lanes
same_model begun whole

echo "another order is reported at a resume"
run begun --steps 70 --epochs 3 --schedule constant --order lanes --lanes 2
prints 'lanes'

if can_mpirun; then
    echo "two ranks are one rank with two micro-batches, to the bit"
    run one --steps 30 --epochs 3 --accumulate 2 $lanes
    ranks 2 "$ringtrain" train $common --data "$work/set" --validation none --report-every 1 \
        --model-dir "$work/two" --checkpoint-dir "$work/two.checkpoints" --seed 3 --steps 30 \
        --epochs 3 $lanes >"$work/two.out" 2>"$work/err" || { cat "$work/err"; fail "two ranks"; }
    [ "$(losses "$work/two.out")" = "$(losses "$work/one.out")" ] ||
        fail "other losses on two ranks"
    [ "$(losses "$work/two.out" | wc -l)" = 30 ] || fail "not 30 losses"
fi

echo "what does not fit"
refused() {
    wanted=$1 words=$2
    shift 2
    code "$wanted" timeout 300 "$ringtrain" train $common --steps 2 --resume none \
        --checkpoint-dir "$work/c" --model-dir "$work/m" "$@"
    says "$words"
}
refused 64 \
    "--lanes 7: 1 rank must divide the lanes, and these the 8 images of a step; the nearest that fit: --lanes 4 or 8" \
    --data "$work/set" --order lanes --lanes 7
refused 64 "the nearest that fit: --lanes 8" --data "$work/set" --order lanes
refused 64 "is not in shards; ringtrain prepare folder makes shards" --data "$data" --order lanes \
    --lanes 4
refused 64 "is not in shards" --data synthetic --order lanes --lanes 4
refused 64 "--lanes" --data "$work/set" --order lanes --lanes 0
refused 64 "expected one of uniform, lanes" --data "$work/set" --order lane
