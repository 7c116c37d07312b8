#!/bin/sh
# Tests that two ranks that share a GPU and sum through host memory train exactly as one rank with
# two micro-batches does: both add the same two numbers.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
here=$(dirname "$0")
. "$here/lib.sh"
need_gpu
# A pack (bench/gpu_pack.sh) has a separate program for this.
[ ! -x "$bin/../mpi/bin/ringtrain" ] || ringtrain=$bin/../mpi/bin/ringtrain
need_mpirun
make_data

# run NAME RANKS ACCUMULATE FLAGS...: trains; the files of the run in $work begin with NAME.
run() {
    name=$1 n=$2 accumulate=$3
    shift 3
    # shellcheck disable=SC2086  # a list
    ranks "$n" "$ringtrain" train $common --backend cuda --comm mpi --deterministic true \
        --data "$data" --validation none --accumulate "$accumulate" --steps 20 --report-every 1 \
        --weight-decay 5e-4 --nesterov true --model-dir "$work/$name" \
        --checkpoint-dir "$work/$name.checkpoints" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || { cat "$work/$name.err"; fail "$name"; }
}

last() {
    find "$work/$1.checkpoints" -name '*.safetensors' | sort | tail -n 1
}

for type in f32 f16; do
    echo "$type: two ranks are one rank with two micro-batches"
    run "two.$type" 2 1 --dtype $type --verify-every 5
    run "one.$type" 1 2 --dtype $type
    same_weights "$(last "two.$type")" "$(last "one.$type")" exact "" .running_ .num_batches_tracked
    [ "$(losses "$work/two.$type.out")" = "$(losses "$work/one.$type.out")" ] || fail "other losses"
    [ "$(losses "$work/two.$type.out" | wc -l)" = 20 ] || fail "not 20 losses"
done
