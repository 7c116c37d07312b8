#!/bin/sh
# Tests gradients that are summed in half precision (--reduce-dtype): all ranks keep the same
# weights, with the same bits over TCP and MPI; training gets as far as in f32; a single rank rounds
# nothing; wrong flags are refused.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 64 40
without_launcher

# flags NAME: prints the flags of a training without augmentation.
flags() {
    echo "train $common --data $data --validation none --report-every 1
        --augment center --flip false --lr 0.2
        --model-dir $work/$1.model --checkpoint-dir $work/$1"
}
# learn SIZE NAME FLAGS...: trains on SIZE ranks over TCP, which compare their weights every third
# step.
learn() {
    size=$1 name=$2
    shift 2
    # shellcheck disable=SC2046  # a list
    together "$size" "$name" "$ringtrain" $(flags "$name") --verify-every 3 "$@"
}
at() { echo "$work/$1/step-$(printf %09d "$2").safetensors"; }

echo "two and three ranks: a step of f32 but for rounding, and the same bits twice"
for size in 2 3; do
    learn "$size" "whole$size" --steps 1
    for type in f16 bf16; do
        learn "$size" "$type$size" --steps 1 --reduce-dtype "$type"
        other_weights "$(at "whole$size" 1)" "$(at "$type$size" 1)" ""
    done
    same_weights "$(at "whole$size" 1)" "$(at "f16$size" 1)" 0.002 ""
    same_weights "$(at "whole$size" 1)" "$(at "bf16$size" 1)" 0.02 ""
    learn "$size" "f16$size" --steps 6 --reduce-dtype f16
    learn "$size" "again$size" --steps 6 --reduce-dtype f16
    same_weights "$(at "f16$size" 6)" "$(at "again$size" 6)" exact ""
done
grep -q '"sum_bytes":' "$work/f162.model/run.jsonl" || fail "run.jsonl does not tell what is summed"
sum_bytes() { sed -n 's/.*"sum_bytes":\([0-9]*\).*/\1/p' "$work/$1.model/run.jsonl" | tail -n 1; }
[ "$(sum_bytes whole2)" = $((2 * $(sum_bytes f162))) ] || fail "not half the bytes"

if can_mpirun; then
    echo "over MPI: the bits of TCP"
    for size in 2 3; do
        # shellcheck disable=SC2046
        ranks "$size" "$ringtrain" $(flags "mpi$size") --steps 6 --reduce-dtype f16 \
            >"$work/mpi.out" 2>&1 || { cat "$work/mpi.out"; fail "over MPI"; }
        # The ranks average running statistics in f32, and three ranks add them in another order
        # over MPI.
        same_weights "$(at "f16$size" 6)" "$(at "mpi$size" 6)" exact "" running_
    done
fi

echo "as far as in f32"
# loss NAME: prints the mean loss of the last twelve steps.
loss() { losses "$work/$1.out" | tail -n 12 | awk '{ sum += $2 } END { print sum / NR }'; }
learn 2 long --steps 100
for type in f16 bf16; do
    learn 2 "long.$type" --steps 100 --reduce-dtype "$type"
    first=$(losses "$work/long.out" | sed -n '1s/.* //p')
    echo "  $first at first; at the end f32 $(loss long), $type $(loss "long.$type")"
    awk -v a="$(loss long)" -v b="$(loss "long.$type")" \
        'BEGIN { exit !(a < 0.9 && b < a + 0.3) }' || fail "$type does not come as far"
done

echo "a run goes on in another type, and says so"
learn 2 f162 --steps 9
grep -q 'reduce-dtype f32 (was f16)' "$work/f162.out" || fail "it does not tell of the other type"

echo "one rank rounds nothing"
# shellcheck disable=SC2046
code 0 "$ringtrain" $(flags alone) --steps 4
# shellcheck disable=SC2046
code 0 "$ringtrain" $(flags alone.f16) --steps 4 --reduce-dtype f16
same_weights "$(at alone 4)" "$(at alone.f16 4)" exact ""

echo "what cannot be"
code 64 "$ringtrain" train --data "$data" --reduce-dtype f8
says 'bf16'
for strategy in sharded local-sgd; do
    code 64 "$ringtrain" train --data "$data" --reduce-dtype f16 --strategy "$strategy"
    says "--reduce-dtype with --strategy $strategy: only allreduce"
done
