#!/bin/sh
# Training speed of Mask R-CNN on CPU cores, beside torchvision's: maskrcnn_resnet50_fpn on eight
# pictures of COCO128 in 800x1088, the same weights, threads and objects, one picture a step. The
# programs take turns of one pass over the pictures. Prints images/s and peak memory of each turn
# and the median ratio.
#
#     DATA=coco128 PYTHON=venv/bin/python3 sh bench/maskrcnn_cpu.sh
#     ROUNDS=5 THREADS=2 RINGTRAIN=other/ringtrain ... sh bench/maskrcnn_cpu.sh
#
# DATA is the unpacked set (annotations/ and train2017/); PYTHON has torch and torchvision.
set -u
cd "$(dirname "$0")/.." || exit 2

DATA=${DATA:?the folder of COCO128, with annotations/ and train2017/}
THREADS=${THREADS:-2}
ROUNDS=${ROUNDS:-3}
PRESET=${PRESET:-release}
PYTHON=${PYTHON:-python3}
RINGTRAIN=${RINGTRAIN:-build/$PRESET/bin/ringtrain}

if [ ! -x "$RINGTRAIN" ]; then
    { cmake --preset "$PRESET" && cmake --build "build/$PRESET" --target ringtrain -j2; } \
        >/dev/null || exit 1
fi
"$PYTHON" -c 'import torch, torchvision' 2>/dev/null || {
    echo "maskrcnn_cpu.sh: $PYTHON has no torch and torchvision" >&2
    exit 1
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
OMP_NUM_THREADS=$THREADS "$PYTHON" bench/maskrcnn_cpu.py "$DATA" "$RINGTRAIN" "$THREADS" "$ROUNDS" "$dir"
