#!/bin/sh
# Makes the pictures of docs/pictures/ with the programs themselves and generated data, so that they
# are free of others' rights.
#
#   sh docs/pictures.sh [BIN [NAME...]]     BIN has the programs (build/release/bin)
#
#   terminal    a training on a terminal: terminal.svg. A minute
#   detection   objects that a Mask R-CNN found: detection.jpg. A training of a quarter of an hour
#               on two cores; MODEL=DIR names one that is trained already
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "${1:-build/release/bin}" && pwd)
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- terminal detection
docs=$PWD/docs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$bin:$PATH"
cd "$work"

terminal() {
    ringtrain prepare shapes shapes >prepared
    python3 "$docs/terminal_svg.py" "$docs/pictures/terminal.svg" \
        "ringtrain train --data shapes --model resnet20 --image-size 24 --epochs 4" \
        'step 1[89][0-9]/248 .* left' \
        ringtrain train --data shapes --model resnet20 --image-size 24 --epochs 4 \
        --batch-size 64 --checkpoint-dir states --model-dir model
}

# Pictures of another seed than the training's.
detection() {
    model=${MODEL:-$work/detector}
    if [ -z "${MODEL:-}" ]; then
        ringtrain prepare shapes --coco set --train 1000 --validation 100
        ringtrain train --recipe shapes --data set --checkpoint-dir states --model-dir "$model"
    fi
    ringtrain prepare shapes --coco new --train 1 --validation 4 --side 256 --long-side 384 \
        --seed 11
    ringtrain predict --model-dir "$model" --out seen --score-threshold 0.8 new/val/0000003.jpg
    cp seen/0000003.jpg "$docs/pictures/detection.jpg"
}

for picture; do
    case $picture in
    terminal | detection) "$picture" ;;
    *) echo "pictures.sh: $picture: expected terminal or detection" >&2; exit 64 ;;
    esac
done
