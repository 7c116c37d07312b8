#!/bin/sh
# Tests examples/pytorch/maskrcnn_onnx.py: torchvision loads the weights of a Mask R-CNN, PyTorch
# exports it, and both torchvision and onnxruntime find what predict finds. It needs a Python with
# torch, torchvision, onnx, onnxruntime and pillow: RINGMASTER_TORCH_ONNX_PYTHON.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
python=${RINGMASTER_TORCH_ONNX_PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1 # writes no cache next to the example
"$python" -c 'import onnx, onnxruntime, PIL, torch, torchvision' 2>/dev/null ||
    skip "$python has no torch, torchvision, onnx, onnxruntime and pillow: name one in RINGMASTER_TORCH_ONNX_PYTHON"
code 0 "$ringtrain" prepare shapes --coco "$work/coco" --train 40 --validation 4
code 0 "$ringtrain" train --model maskrcnn_resnet50_fpn --data "$work/coco" --steps 25 \
    --batch-size 2 --lr 0.001 --lr-batch 0 --warmup-steps 5 --short-side 128 --long-side 192 \
    --region-samples 64 --anchor-samples 64 --validation none --log metrics \
    --checkpoint-dir "$work/checkpoints" --model-dir "$work/model"
compare=$top/tests/train/maskrcnn_onnx_compare.py
"$python" "$compare" pictures "$work/coco/val" "$work/pictures" || fail "no pictures"
code 0 "$ringtrain" predict --model-dir "$work/model" --out "$work/found" --score-threshold 0.05 \
    "$work/pictures"
"$python" "$top/examples/pytorch/maskrcnn_onnx.py" "$work/model" "$work/model.onnx" \
    2>"$work/export" || { cat "$work/export"; fail "PyTorch does not export it"; }
"$python" "$compare" compare "$work/model" "$work/model.onnx" "$work/found" "$work/pictures" ||
    fail "torchvision or onnxruntime finds something else"
checks=$((checks + 1))
