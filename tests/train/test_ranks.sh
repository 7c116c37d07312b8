#!/bin/sh
# Tests that global batches have the same samples whatever the number of ranks: N ranks are compared
# with one rank that adds up N micro-batches. Two ranks do the same additions, so every bit agrees;
# three ranks add in another order.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
make_data

# run NAME RANKS ACCUMULATE FLAGS...
run() {
    name=$1 n=$2 accumulate=$3
    shift 3
    # shellcheck disable=SC2086  # a list
    ranks "$n" "$ringtrain" train $common --data "$data" --validation none \
        --accumulate "$accumulate" --model-dir "$work/$name" \
        --checkpoint-dir "$work/$name.checkpoints" --report-every 1 "$@" >"$work/$name.out" \
        2>"$work/$name.err" || { cat "$work/$name.err"; fail "$name"; }
}

last() {
    find "$work/$1.checkpoints" -name '*.safetensors' | sort | tail -n 1
}

echo "two ranks are one rank with two micro-batches, to the bit"
run two 2 1 --steps 20 --verify-every 5 --weight-decay 5e-4 --nesterov true
run one 1 2 --steps 20 --weight-decay 5e-4 --nesterov true
# Each rank has its own statistics of batch norm until they are averaged: they are not compared.
same_weights "$(last two)" "$(last one)" exact "" .running_ .num_batches_tracked
[ "$(losses "$work/two.out")" = "$(losses "$work/one.out")" ] || fail "other losses"
[ "$(losses "$work/two.out" | wc -l)" = 20 ] || fail "not 20 losses"

echo "three ranks: gradients of the first step"
run three 3 1 --steps 1 --lr 0.01 --lr-batch 0 --weight-decay 0
run trio 1 3 --steps 1 --lr 0.01 --lr-batch 0 --weight-decay 0
same_weights "$(last three)" "$(last trio)" 1e-5 optimizer.momentum.

echo "three ranks: losses of the first five steps"
run three 3 1 --steps 5 --lr 0.01 --lr-batch 0 --schedule constant --resume none
run trio 1 3 --steps 5 --lr 0.01 --lr-batch 0 --schedule constant --resume none
losses "$work/three.out" >"$work/a"
losses "$work/trio.out" >"$work/b"
paste -d ' ' "$work/a" "$work/b" | awk '
    { d = $2 - $4; if (d < 0) d = -d; if (d > 1e-4 || $1 != $3) bad = 1; rows++ }
    END { exit bad || rows != 5 }' || { paste "$work/a" "$work/b"; fail "losses differ"; }
