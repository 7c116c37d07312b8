#!/bin/sh
# Checks that maskrcnn_resnet50_fpn overfits eight pictures of COCO128 from random weights, and that
# torchvision's does no better by the same recipe: pictures, steps, rates, trained norms. Only
# objects of at least 32 x 32 pixels on the canvas of 400 count. Prints mask mAP and AP50 of each
# side, and exits with 1 if ours has an AP50 below 0.95 or an mAP more than 0.02 below
# torchvision's.
#
#     DATA=coco128 FOLDER=overfit PYTHON=venv/bin/python3 sh bench/maskrcnn_overfit.sh
#     SIDES=ringtrain THREADS=2 ... sh bench/maskrcnn_overfit.sh
#
# DATA is the unpacked set (annotations/ and train2017/); PYTHON has torch, torchvision and
# pycocotools. It takes hours, most of them torchvision's: each side saves its state in FOLDER every
# 50 steps, and resumes from there when this is called again.
set -u
cd "$(dirname "$0")/.." || exit 2

FOLDER=${FOLDER:?a folder for what both sides learn}
SIDES=${SIDES:-ringtrain,torch}
. bench/torch_env.sh
need_python torch torchvision pycocotools
OMP_NUM_THREADS=$THREADS exec "$PYTHON" bench/maskrcnn_overfit.py "$DATA" "$RINGTRAIN" \
    "$THREADS" "$SIDES" "$FOLDER"
