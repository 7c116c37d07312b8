#!/bin/sh
# Tests that the number of compute threads does not change a single bit of the trained weights: for
# classification and detection, in f32 and bf16.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
"$ringtrain" version | grep -q 'oneDNN' || skip "this build has no backend cpu"
"$ringtrain" version | grep -q 'avx512_core' ||
    skip "not promised of oneDNN's matrix products without AVX-512"
make_data 32 8
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --side 64 --train 8 --validation 1 >"$work/out" ||
    fail "no set"

# of_threads NAME FLAGS...: the checkpoints of runs on 1, 2 and 3 threads are the same bytes.
of_threads() {
    name=$1
    shift
    for threads in 1 2 3; do
        code 0 "$ringtrain" train --backend cpu --threads "$threads" --data-threads 1 \
            --log metrics --steps 3 --lr 0.1 --validation none --model-dir "$work/$name.model" \
            --checkpoint-dir "$work/$name.$threads" "$@"
        rm -r "$work/$name.model"
        same_weights "$work/$name.1/step-000000003.safetensors" \
            "$work/$name.$threads/step-000000003.safetensors" exact ""
    done
}

for dtype in f32 bf16; do
    echo "a small ResNet in $dtype"
    of_threads "classes.$dtype" --dtype "$dtype" --model resnet20 --batch-size 16 --data "$data"
    echo "a small Mask R-CNN in $dtype, its norms trained"
    of_threads "objects.$dtype" --dtype "$dtype" --model maskrcnn_tiny --batch-size 4 \
        --short-side 64 --long-side 96 --warmup-steps 1 --data "$set_dir"
done
