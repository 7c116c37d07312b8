#!/bin/sh
# Tests `ringtrain predict` on unlabelled pictures, for both kinds of networks: files and folders,
# all kinds of colours, files that are not pictures, several ranks, and wrong flags.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 32 8
"$ringtrain" prepare shapes --coco "$work/set" --train 8 --validation 4 >"$work/out" ||
    fail "no set"
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" train $common --data "$data" --steps 4 --checkpoint-dir "$work/c" \
    --model-dir "$work/classes"
code 0 "$ringtrain" train --model maskrcnn_tiny --batch-size 2 --threads 1 --data-threads 1 \
    --steps 2 --warmup-steps 0 --lr 0.001 --validation none --data "$work/set" \
    --checkpoint-dir "$work/d" --model-dir "$work/objects"

python=${RINGMASTER_PYTHON:-python3}
# reads FILE EXPRESSION: the Python EXPRESSION holds for the file's JSON, which it calls j.
reads() {
    "$python" -c 'import json, sys
j = json.load(open(sys.argv[1], encoding="utf-8"))
assert eval(sys.argv[2]), j' "$1" "$2" || fail "$1: not $2"
}
command -v "$python" >/dev/null || skip "no $python"

mkdir "$work/mixed" "$work/mixed/below"
one=$(find "$work/set/val" -name '*.jpg' | sort | head -n 1)
cp "$one" "$work/mixed/below/Käse.jpg"
cp "$one" "$work/mixed/a.jpeg"
printf 'no picture' >"$work/mixed/text.png"
: >"$work/mixed/empty.jpg"
head -c 700 "$one" >"$work/mixed/cut.jpg"
# These pictures are in CMYK, in 16 bits a channel and in grey.
for odd in cmyk_adobe.jpg deep.png gama_gray.png; do
    cp "$(dirname "$0")/../golden/pictures/$odd" "$work/mixed/below/$odd"
done

echo "classes with their probabilities"
code 66 "$ringtrain" predict --model-dir "$work/classes" --out "$work/p" --threads 1 "$work/mixed" \
    --top 3 "$one"
says "text.png"
says "empty.jpg"
says "cut.jpg"
says "3 of 9 pictures cannot be used"
reads "$work/p/predictions.json" \
    '[p["file_name"].rsplit("/", 1)[1] for p in j["pictures"]] == ["a.jpeg", "Käse.jpg",
    "cmyk_adobe.jpg", "deep.png", "gama_gray.png", "'"${one##*/}"'"]'
reads "$work/p/predictions.json" 'all(len(p["classes"]) == 3 for p in j["pictures"])'
# There are four classes, and --top 3 leaves out the least probable one.
reads "$work/p/predictions.json" \
    'j["pictures"][0]["classes"] == j["pictures"][1]["classes"] == j["pictures"][5]["classes"]'
reads "$work/p/predictions.json" \
    'all(0.75 <= sum(c["probability"] for c in p["classes"]) < 1 for p in j["pictures"])'
code 0 "$ringtrain" predict --model-dir "$work/classes" --out "$work/p4" --threads 1 \
    --batch-size 2 --bad-samples skip "$work/mixed"
reads "$work/p4/predictions.json" \
    'all(abs(sum(c["probability"] for c in p["classes"]) - 1) < 1e-9 for p in j["pictures"])'
reads "$work/p4/predictions.json" \
    'all(c == sorted(c, reverse=True)
        for c in [[k["probability"] for k in p["classes"]] for p in j["pictures"]])'

echo "what was seen stands on the screen; a name that leads to nothing costs nobody the others"
code 66 "$ringtrain" predict --model-dir "$work/classes" --out "$work/p5" --threads 1 "$one" \
    "$work/gone.jpg" "$work/mixed/a.jpeg"
says "$work/gone.jpg: No such file"
says "1 of 3 pictures cannot be used"
reads "$work/p5/predictions.json" 'len(j["pictures"]) == 2'
grep -qE "^$one  (circle|square|triangle|[a-z]+) [0-9]+ %, [a-z]+ [0-9]+ %" "$work/out" ||
    fail "no answer: $(cat "$work/out")"
[ "$(wc -l <"$work/out")" = 2 ] || fail "not two answers"
code 0 "$ringtrain" predict --model-dir "$work/classes" --out "$work/p5" --threads 1 \
    --bad-samples 1 "$one" "$work/gone.jpg"
code 66 "$ringtrain" predict --model-dir "$work/objects" --out "$work/p6" --threads 1 \
    --score-threshold 0 "$one" "$work/gone.jpg"
says "1 of 2 pictures cannot be used"
grep -qE "^$work/p6/${one##*/}  [0-9]+ objects: (circle|square|triangle) [0-9]+ %, " "$work/out" ||
    fail "no objects: $(cat "$work/out")"

echo "objects: lists for pycocotools, and painted pictures"
code 66 "$ringtrain" predict --model-dir "$work/objects" --out "$work/q" --threads 1 \
    --score-threshold 0 --format png "$work/mixed"
says "3 of 8 pictures cannot be used"
reads "$work/q/pictures.json" \
    '[i["id"] for i in j["images"]] == [1, 5, 6, 7, 8] and [
        c["name"] for c in j["categories"]] == ["circle", "square", "triangle"]'
reads "$work/q/predictions.json" \
    'len(j) > 0 and all({"image_id", "category_id", "bbox", "score", "segmentation"} == set(r)
        for r in j)'
reads "$work/q/predictions.json" \
    'all(r["segmentation"]["size"] == [128, 128] for r in j if r["image_id"] in (1, 5))'
[ "$(find "$work/q" -name '*.png' | wc -l)" = 5 ] || fail "not five painted pictures"
[ "$(wc -l <"$work/out")" = 5 ] || fail "pictures are not told"
code 0 "$ringtrain" predict --model-dir "$work/objects" --out "$work/q2" --threads 1 \
    --score-threshold 0 --bad-samples skip --format png "$work/mixed"
cmp "$work/q/predictions.json" "$work/q2/predictions.json" || fail "other predictions"
code 0 "$ringtrain" predict --model-dir "$work/objects" --out "$work/q3" --threads 1 \
    --score-threshold 1 "$one"
[ "$(tr -d '\n' <"$work/q3/predictions.json")" = "[]" ] || fail "objects above 1"
grep -qE 'no object has a score of 1 or more, the highest is 0\.[0-9e-]+: --score-threshold' \
    "$work/err" || fail "not what hid them"

# as_one FOLDER FOLDER WHAT: both folders have the same files, byte by byte.
as_one() {
    checks=$((checks + 1))
    diff -r "$1" "$2" >"$work/out" 2>&1 || {
        cat "$work/out"
        fail "$3: another result than with one rank"
    }
}
# several RUN...: predicts on several ranks and compares with one rank. RUN is a command that runs
# another one on several ranks, such as `ranks 3`, and fails unless all of them end with 0.
several() {
    "$@" "$ringtrain" predict --model-dir "$work/classes" --out "$work/several-p" --threads 1 \
        --batch-size 2 --top 3 --bad-samples skip "$work/mixed" "$data/val" >"$work/out" \
        2>"$work/err" || { cat "$work/err"; fail "$*: classes"; }
    as_one "$work/one-p" "$work/several-p" "$*"
    "$@" "$ringtrain" predict --model-dir "$work/objects" --out "$work/several-q" --threads 1 \
        --batch-size 2 --score-threshold 0 --bad-samples skip --format png "$work/mixed" \
        "$work/set/val" >"$work/out" 2>"$work/err" || { cat "$work/err"; fail "$*: objects"; }
    as_one "$work/one-q" "$work/several-q" "$*"
    rm -r "$work/several-p" "$work/several-q"
}
over_tcp() {
    together 3 predicted "$@"
    cat "$work/predicted.out"
}
echo "several ranks make one list, the same"
code 0 "$ringtrain" predict --model-dir "$work/classes" --out "$work/one-p" --threads 1 \
    --batch-size 2 --top 3 --bad-samples skip "$work/mixed" "$data/val"
code 0 "$ringtrain" predict --model-dir "$work/objects" --out "$work/one-q" --threads 1 \
    --batch-size 2 --score-threshold 0 --bad-samples skip --format png "$work/mixed" "$work/set/val"
without_launcher
several over_tcp
grep -q "9 of 12 pictures: predictions in" "$work/predicted.out" || {
    cat "$work/predicted.out"
    fail "no word of the end"
}
! grep -q "predictions in" "$work/predicted.1" || fail "two ranks tell the end"
if can_mpirun; then
    several ranks 3
    several ranks 2
    # There may be more ranks than pictures. A picture that cannot be used ends all ranks with one
    # exit code.
    ranks 3 "$ringtrain" predict --model-dir "$work/classes" --out "$work/few" --threads 1 "$one" \
        >"$work/out" 2>"$work/err" || { cat "$work/err"; fail "more ranks than pictures"; }
    reads "$work/few/predictions.json" 'len(j["pictures"]) == 1'
    grep -q "^$one  " "$work/out" || fail "no answer of three ranks"
    recorded_ranks 2 "$ringtrain" predict --model-dir "$work/classes" --out "$work/few" \
        --threads 1 "$work/mixed"
    codes 66 2
    says "3 of 8 pictures cannot be used"
fi

echo "pictures that are called by numbers keep them, and are scored by them"
code 0 "$ringtrain" predict --model-dir "$work/objects" --out "$work/v" --threads 1 \
    --score-threshold 0 "$work/set/val"
reads "$work/v/pictures.json" \
    '[i["id"] for i in j["images"]] == sorted(
        int(i["file_name"].rsplit("/", 1)[1].split(".")[0]) for i in j["images"])'
if can_pycocotools; then
    "$python" -c 'import sys
from pycocotools.coco import COCO
found = COCO(sys.argv[1]).loadRes(sys.argv[2])
assert len(found.anns) > 0 and all(
    found.annToMask(a).any() in (0, 1) for a in found.anns.values())' \
        "$work/q/pictures.json" "$work/q/predictions.json" >"$work/out" 2>&1 ||
        { cat "$work/out"; fail "pycocotools"; }
fi

echo "what cannot be"
code 64 "$ringtrain" predict --model-dir "$work/classes" --out "$work/x"
code 64 "$ringtrain" predict --model-dir "$work/classes" "$one"
code 64 "$ringtrain" predict --model-dir "$work/classes" --out "$work/x" --score-threshold 0.3 \
    "$one"
says "--score-threshold"
code 64 "$ringtrain" predict --model-dir "$work/objects" --out "$work/x" --top 3 "$one"
says "--top"
code 66 "$ringtrain" predict --model-dir "$work/none" --out "$work/x" "$one"
says "$work/none"
code 66 "$ringtrain" predict --model-dir "$work/objects" --out "$work/x" "$work/missing.jpg"
says "missing.jpg"
mkdir "$work/hollow"
code 66 "$ringtrain" predict --model-dir "$work/objects" --out "$work/x" "$work/hollow"
says "$work/hollow: no pictures"
code 66 "$ringtrain" predict --model-dir "$work/objects" --out "$work/x" "$work/mixed/text.png"
says "text.png"
: >"$work/file"
code 65 "$ringtrain" predict --model-dir "$work/objects" --out "$work/file" "$one"
says "--out"
code 65 "$ringtrain" predict --model-dir "$work/objects" --out "$work/q3" "$one"
says "is there already"
[ ! -e "$work/x/predictions.json" ] || fail "predictions of nothing"
