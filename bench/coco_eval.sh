#!/bin/sh
# Measures COCO evaluation beside pycocotools and faster_coco_eval, and the building of an index.
#
#   sh bench/coco_eval.sh
#   PRESET=release  PYTHON=python3 with numpy, pycocotools and faster-coco-eval (PyPI)  ROUNDS=3
#   KEEP=a folder that keeps the synthetic files (1 GB)
set -eu
cd "$(dirname "$0")/.."
PRESET=${PRESET:-release}
PYTHON=${PYTHON:-python3}
ROUNDS=${ROUNDS:-3}
cmake --preset "$PRESET" >/dev/null
cmake --build "build/$PRESET" --target ringtrain bench_coco_index >/dev/null

if [ -n "${KEEP:-}" ]; then
    work=$KEEP
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT INT TERM
fi
make_file() { # NAME ARGUMENTS...: makes the file unless it exists
    name=$1
    shift
    [ -e "$work/$name" ] && return
    "$PYTHON" bench/coco_synthetic.py "$1" "$work/$name.part" "$2" "$3" ${4:+"$4" "$5"}
    mv "$work/$name.part" "$work/$name"
}

echo "5,000 images, 36,000 objects, 500,000 detections; boxes and masks, files to numbers:"
make_file val.json annotations --images 5000 --objects 36000
make_file results.json results --annotations "$work/val.json" --each 100
"$PYTHON" bench/coco_eval.py "build/$PRESET/bin/ringtrain" "$work/val.json" "$work/results.json" \
    --rounds "$ROUNDS"

echo "index of 120,000 images, 860,000 objects:"
make_file train.json annotations --images 120000 --objects 860000
ls -l "$work/train.json" | awk '{printf "json   %.0f MB\n", $5 / 1048576}'
for program in build open; do
    if [ $program = build ]; then
        "build/$PRESET/bench/bench_coco_index" build "$work/train.json" "$work/train.index"
    else
        "build/$PRESET/bench/bench_coco_index" open "$work/train.index"
    fi
done
