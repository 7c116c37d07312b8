#!/bin/sh
# Measures the training speed of Mask R-CNN on CPU cores, beside torchvision's:
# maskrcnn_resnet50_fpn on eight pictures of COCO128 in 800x1088, with the same weights, threads and
# objects, one picture per step. The programs run one pass over the pictures in turns. torchvision
# uses the memory format that is faster on the machine, which is tried first. Prints images/s, peak
# memory and foreground regions of each turn and the median ratio.
#
#     DATA=coco128 PYTHON=venv/bin/python3 sh bench/maskrcnn_cpu.sh
#     ROUNDS=5 THREADS=2 RINGTRAIN=other/ringtrain ... sh bench/maskrcnn_cpu.sh
#
# DATA is the unpacked set (annotations/ and train2017/); PYTHON has torch and torchvision.
set -u
cd "$(dirname "$0")/.." || exit 2

ROUNDS=${ROUNDS:-3}
. bench/torch_env.sh
need_python torch torchvision
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
OMP_NUM_THREADS=$THREADS "$PYTHON" bench/maskrcnn_cpu.py "$DATA" "$RINGTRAIN" "$THREADS" \
    "$ROUNDS" "$dir"
