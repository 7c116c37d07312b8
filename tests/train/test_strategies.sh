#!/bin/sh
# Tests the strategies for training on several ranks (--strategy): with a divided optimizer, weights
# and state have the bits of allreduce where both add in the same order; averaging after each step
# equals allreduce except for rounding; one strategy continues another's checkpoint bit for bit.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data
without_launcher

# learn SIZE NAME FLAGS...: trains on SIZE ranks over TCP.
learn() {
    size=$1 name=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    together "$size" "$name" "$ringtrain" train $common --data "$data" --validation none \
        --report-every 1 --model-dir "$work/$name.model" --checkpoint-dir "$work/$name" \
        --checkpoint-every 6 "$@"
}
at() { echo "$work/$1/step-$(printf %09d "$2").safetensors"; }
# as_allreduce SIZE STRATEGY FLAGS...: the weights, averages and state have the same bits as with
# allreduce.
as_allreduce() {
    size=$1 strategy=$2
    shift 2
    learn "$size" "all$size" --steps 8 "$@"
    learn "$size" "$strategy$size" --steps 8 --strategy "$strategy" --verify-every 3 "$@"
    same_weights "$(at "all$size" 8)" "$(at "$strategy$size" 8)" exact ""
    losses "$work/all$size.out" >"$work/losses"
    losses "$work/$strategy$size.out" | cmp - "$work/losses" || fail "other losses"
}

echo "sharded: the bits of allreduce, for 2, 3 and 4 ranks"
as_allreduce 2 sharded --optimizer adamw --lr 0.001 --ema 0.9 --accumulate 2
as_allreduce 3 sharded
as_allreduce 4 sharded --optimizer adagrad
grep -q 'comm_wait=' "$work/sharded4.out" || fail "waiting for other ranks is not told"

echo "ps-sync: workers leave the bits of allreduce over them alone"
learn 3 ps2 --steps 8 --optimizer adamw --lr 0.001 --ema 0.9 --accumulate 2 --strategy ps-sync \
    --servers 1
same_weights "$(at all2 8)" "$(at ps2 8)" exact ""
learn 5 ps3 --steps 8 --strategy ps-sync --servers 2 --verify-every 3
same_weights "$(at all3 8)" "$(at ps3 8)" exact ""

echo "sharded, with norms: but for the last bits"
learn 3 norms --steps 2 --optimizer lars --clip-norm 0.5
learn 3 sharded.norms --steps 2 --optimizer lars --clip-norm 0.5 --strategy sharded
same_weights "$(at norms 2)" "$(at sharded.norms 2)" 1e-5 ""

if can_mpirun; then
    echo "sharded over MPI: the bits of allreduce over TCP"
    # shellcheck disable=SC2086
    ranks 2 "$ringtrain" train $common --data "$data" --validation none \
        --model-dir "$work/mpi.model" --steps 8 --optimizer adamw --lr 0.001 --ema 0.9 \
        --accumulate 2 --checkpoint-dir "$work/mpi" --strategy sharded >"$work/mpi.out" 2>&1 ||
        { cat "$work/mpi.out"; fail "over MPI"; }
    same_weights "$(at all2 8)" "$(at mpi 8)" exact ""
fi

echo "ps-sync over MPI: the same bits, and all end with one code"
if can_mpirun; then
    # shellcheck disable=SC2086
    ranks 3 "$ringtrain" train $common --data "$data" --validation none \
        --model-dir "$work/mpi.ps.model" --steps 8 --optimizer adamw --lr 0.001 --ema 0.9 \
        --accumulate 2 --checkpoint-dir "$work/mpi.ps" --strategy ps-sync --servers 1 \
        >"$work/mpi.out" 2>&1 || { cat "$work/mpi.out"; fail "ps-sync over MPI"; }
    same_weights "$(at all2 8)" "$(at mpi.ps 8)" exact ""
fi

echo "local-sgd with a mean after each step: allreduce but for rounding"
learn 3 one --steps 1
learn 3 local.one --steps 1 --strategy local-sgd --sync-every 1
same_weights "$(at one 1)" "$(at local.one 1)" 1e-5 ""
echo "and every fourth step: all ranks have the same weights where they save, and go on from there to the bit"
learn 3 local --steps 10 --strategy local-sgd --sync-every 4 --verify-every 4
learn 3 local.two --steps 10 --strategy local-sgd --sync-every 4
same_weights "$(at local 10)" "$(at local.two 10)" exact ""
other_weights "$(at local 6)" "$(at local 10)" optimizer.

# goes_on FROM TO STRATEGY FLAGS...: continues from step 6 of FROM, as TO; the last weights are
# those of FROM.
goes_on() {
    from=$1 to=$2 strategy=$3
    shift 3
    mkdir "$work/$to" && cp "$(at "$from" 6)" "$work/$to/" || fail "no checkpoint of step 6"
    learn "$with" "$to" --strategy "$strategy" "$@"
    grep -q 'step-000000006' "$work/$to.out" || fail "$to does not go on from step 6"
    same_weights "$(at "$from" "$last")" "$(at "$to" "$last")" exact ""
}
echo "a checkpoint is continued by another strategy"
last=8 with=3
goes_on sharded3 from.sharded allreduce --steps 8
goes_on all3 from.allreduce sharded --steps 8
goes_on ps3 from.ps allreduce --steps 8
with=4
goes_on all3 to.ps ps-sync --steps 8 --servers 1
with=3
last=10
goes_on local from.local local-sgd --steps 10 --sync-every 4

echo "what cannot be"
code 64 "$ringtrain" train --data "$data" --strategy gossip
says 'allreduce'
code 64 "$ringtrain" train --data "$data" --strategy local-sgd --sync-every 0
says '--sync-every'
code 64 "$ringtrain" train --data "$data" --strategy local-sgd --histograms 5
says 'no rank has the sum of all gradients'
code 64 "$ringtrain" train --data "$data" --strategy ps-sync
says 'give --servers N'
code 65 "$ringtrain" train --data "$data" --strategy ps-sync --servers 1
says 'at least one has to train'
