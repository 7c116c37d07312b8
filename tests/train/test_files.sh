#!/bin/sh
# Tests that no command overwrites its input or the files of others, and that errors about a file
# name it.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
set=$work/coco
"$ringtrain" prepare shapes --coco "$set" --train 6 --validation 3 --side 64 >/dev/null
truth=$set/annotations/instances_train.json
results=$work/results.json
printf '[{"image_id":1,"category_id":3,"bbox":[1,1,20,20],"score":0.5}]' >"$results"
eval="$ringtrain eval --coco $truth --results $results"

sums() {
    find "$set" "$results" -type f -exec cksum {} + | sort
}
sums >"$work/before"
unharmed() {
    sums | cmp -s - "$work/before" || fail "a file was written over: $*"
}

echo "eval --coco leaves what it reads alone"
for flag in --index --json; do
    for file in "$truth" "$results" "$set/train/0000001.jpg"; do
        # shellcheck disable=SC2086  # a list
        code 65 $eval $flag "$file"
        says "$flag: $file is not"
        unharmed "$flag $file"
    done
done
# shellcheck disable=SC2086
code 64 $eval --json "$work/both" --index "$work/both"
mkdir "$work/arrays"
cp "$truth" "$work/arrays/bbox.recall.npy"
# shellcheck disable=SC2086
code 65 $eval --arrays "$work/arrays"
says "bbox.recall.npy is not a NumPy array"
# shellcheck disable=SC2086
code 65 $eval --json /dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"
echo "and its own files may be made again"
for _ in 1 2; do
    # shellcheck disable=SC2086
    code 0 $eval --json "$work/numbers.json" --index "$work/truth.index" --arrays "$work/again"
done
# shellcheck disable=SC2086
code 65 $eval --json "$work/truth.index"

echo "draw leaves the pictures alone, and gives each a file of its own"
code 65 "$ringtrain" draw --coco "$set" --out "$set/train"
says "would be lost"
unharmed "draw"
[ ! -s "$work/out" ] || fail "drew before it refused"
mkdir -p "$work/named/x" "$work/named/y"
cp "$set/train/0000001.jpg" "$work/named/x/1.jpg"
cp "$set/train/0000002.jpg" "$work/named/y/1.jpg"
cat >"$work/named.json" <<END
{"images": [{"id": 1, "file_name": "x/1.jpg", "width": 64, "height": 64, "name": "holiday"},
            {"id": 2, "file_name": "y/1.jpg", "width": 64, "height": 64}],
 "categories": [], "annotations": []}
END
code 0 "$ringtrain" draw --coco "$work/named.json" --pictures "$work/named" --out "$work/drawn"
[ -s "$work/drawn/x/1.jpg" ] && [ -s "$work/drawn/y/1.jpg" ] || fail "one file for two pictures"
code 65 "$ringtrain" draw --coco "$work/named.json" --pictures "$work/named" --out "$work/drawn"

echo "labels have the letters of the name; what no font has is spelled, and the log names it"
sed 's/"name": *"circle"/"name":"K\\u00e4se \\ud80c\\udc00"/' "$truth" >"$work/kaese.json"
umlaut='Kase'
! "$ringtrain" version | grep -q 'pictures: FreeType' ||
    [ ! -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || umlaut='Käse'
code 0 "$ringtrain" draw --coco "$work/kaese.json" --pictures "$set/train" --out "$work/kaese" \
    --count 2
says "is written as '$umlaut U+13000' on the pictures"
echo "no font" >"$work/broken.ttf"
if "$ringtrain" version | grep -q 'pictures: FreeType'; then
    code 66 "$ringtrain" draw --coco "$work/kaese.json" --pictures "$set/train" \
        --out "$work/unlettered" --font "$work/broken.ttf"
    says "font: $work/broken.ttf: not a font"
else
    code 64 "$ringtrain" draw --coco "$work/kaese.json" --pictures "$set/train" \
        --out "$work/unlettered" --font "$work/broken.ttf"
    says "this build reads no fonts"
fi
[ ! -e "$work/unlettered" ] || fail "drew without the font that was asked for"

echo "a PNG that is called .jpg is drawn, too"
code 0 "$ringtrain" draw --coco "$work/named.json" --pictures "$work/named" --out "$work/png" \
    --format png
mkdir -p "$work/disguised/x" "$work/disguised/y"
cp "$work/png/x/1.png" "$work/disguised/x/1.jpg"
cp "$work/png/y/1.png" "$work/disguised/y/1.jpg"
code 0 "$ringtrain" draw --coco "$work/named.json" --pictures "$work/disguised" --out "$work/second"

echo "inspect coco looks into the pictures, and its code is for scripts"
code 0 "$ringtrain" inspect coco "$set"
cp -r "$set" "$work/broken"
head -c 700 "$set/train/0000001.jpg" >"$work/broken/train/0000001.jpg"
echo "no picture" >"$work/broken/train/0000002.jpg"
code 66 "$ringtrain" inspect coco "$work/broken"
grep -q '2  images with a file that is not a whole JPEG or PNG: 2 (0000001.jpg), 3 (0000002.jpg)' \
    "$work/out" || { cat "$work/out" >&2; fail "damaged pictures were not found"; }
cp "$work/broken/annotations/instances_train.json" "$work/plain.json"
mkdir "$work/alone" && cp "$work/plain.json" "$work/alone/objects.json"
code 66 "$ringtrain" inspect coco "$work/alone"
grep -q \
    'objects.json, no folder of pictures: files are not checked; expected objects/, images/objects/ or images/' \
    "$work/out" || { cat "$work/out" >&2; fail "did not say that pictures are missing"; }

echo "files that are something else are called by their name"
gzip -c "$truth" >"$work/truth.gz"
code 66 "$ringtrain" eval --coco "$work/truth.gz" --results "$results"
says "$work/truth.gz: this is packed with gzip"
printf '\357\273\277[]' >"$work/bom.json"
code 66 "$ringtrain" eval --coco "$truth" --results "$work/bom.json"
says "$work/bom.json: this is UTF-8 with a byte order mark"
printf '{"images": [], "categories": []}' >"$work/less.json"
printf '[]' >"$work/none.json"
code 66 "$ringtrain" eval --coco "$work/less.json" --results "$work/none.json"
says "$work/less.json: no list \"annotations\""
printf '[{"image_id":99,"category_id":3,"bbox":[1,1,20,20],"score":0.5}]' >"$work/other.json"
code 66 "$ringtrain" eval --coco "$truth" --results "$work/other.json"
says "$work/other.json: result 1: image 99 is not in $truth"
printf '{"images":[{"id":1}],"categories":[{"id":1}],
    "annotations":[{"id":1,"image_id":1,"category_id":1}]}' \
    >"$work/bare.json"
code 66 "$ringtrain" eval --coco "$work/bare.json" --results "$work/none.json" --iou-type bbox
says "$work/bare.json: annotation 1: no \"area\""
unharmed "at the end"

echo "--init: a model for other classes gives all but its head; its own file is not written over"
# shellcheck disable=SC2154
flags="$common --steps 1 --resume none --report-every 1"
"$ringtrain" prepare shapes "$work/four" --train 16 --validation 8 --classes 4 --side 40 >/dev/null
"$ringtrain" prepare shapes "$work/three" --train 16 --validation 8 --classes 3 --side 40 >/dev/null
# shellcheck disable=SC2086
code 0 "$ringtrain" train $flags --data "$work/four" --model-dir "$work/m4" \
    --checkpoint-dir "$work/c4"
# shellcheck disable=SC2086
code 0 "$ringtrain" train $flags --data "$work/three" --model-dir "$work/m3" \
    --checkpoint-dir "$work/c3" --init "$work/m4/model.safetensors"
says "is for 4 classes, the data has 3: fc keeps its initial values"
! grep -q "are not used" "$work/err" || fail "two lines for one thing"
# shellcheck disable=SC2086
code 0 "$ringtrain" train $flags --data "$work/four" --model-dir "$work/m6" \
    --checkpoint-dir "$work/c6" --init "$work/m4"
says "initial weights from $work/m4/model.safetensors"
# shellcheck disable=SC2086
code 65 "$ringtrain" train $flags --data "$work/four" --model-dir "$work/m4" \
    --checkpoint-dir "$work/c5" --init "$work/m4"
says "give another --model-dir"
# shellcheck disable=SC2086
code 65 "$ringtrain" train $flags --data "$work/four" --model-dir "$work/m4" \
    --checkpoint-dir "$work/c5" --init "$work/m4/model.safetensors"
says "give another --model-dir"
# shellcheck disable=SC2086
code 66 "$ringtrain" train $flags --data "$work/four" --model resnet32 --model-dir "$work/m5" \
    --checkpoint-dir "$work/c5" --init "$work/m4/model.safetensors"
says "are missing, the first is layer"
