#!/bin/sh
# Tests that bad annotations of a detection data set end a training with the documented exit code
# and an error that names file, key and value, or are counted in a log message.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
"$ringtrain" prepare shapes --coco "$work/shapes" --train 2 --validation 1 >"$work/out" ||
    fail "no set"
picture=$(find "$work/shapes/train" -name '*.jpg' | sort | head -n 1)
flags="--model maskrcnn_tiny --batch-size 1 --threads 1 --data-threads 1 --log metrics
    --report-every 1 --steps 1 --resume none"
json=$work/set/annotations/instances_train.json

IMAGES='"images":[{"id":7,"file_name":"a.jpg","width":128,"height":128}]'
CATEGORIES='"categories":[{"id":3,"name":"form"}]'
OBJECT='"id":1,"image_id":7,"category_id":3,"bbox":[10,12,40,30],"area":1200,"iscrowd":0,"segmentation":[[10,12,50,12,50,42,10,42]]'

# set_of JSON: makes a folder with this training set of one picture, without validation data.
set_of() {
    rm -rf "$work/set"
    mkdir -p "$work/set/annotations" "$work/set/train"
    cp "$picture" "$work/set/train/a.jpg"
    printf '%s\n' "$1" >"$json"
}

# run CODE FLAGS...: trains on that folder as it is; the exit code has to be CODE.
run() {
    wanted=$1
    shift
    # shellcheck disable=SC2086  # a list
    code "$wanted" timeout 300 "$ringtrain" train $flags --data "$work/set" --validation none \
        --model-dir "$work/m" --checkpoint-dir "$work/c" "$@"
}

# train CODE JSON FLAGS...: trains on a set made of JSON; the exit code has to be CODE.
train() {
    train_code=$1
    set_of "$2"
    shift 2
    run "$train_code" "$@"
}

# refused WORDS JSON: a training fails with 66, and its error has WORDS after the file's name.
refused() {
    train 66 "$2"
    says "$json: $1"
}

echo "lists that are missing or empty"
refused 'no "annotations"' "{$IMAGES,$CATEGORIES}"
refused 'no "categories"' "{$IMAGES,\"annotations\":[{$OBJECT}]}"
refused 'no "images"' "{$CATEGORIES,\"annotations\":[{$OBJECT}]}"
refused '"images" is empty' "{\"images\":[],$CATEGORIES,\"annotations\":[{$OBJECT}]}"
refused '"categories" is empty' "{$IMAGES,\"categories\":[],\"annotations\":[{$OBJECT}]}"

echo "flags are looked at before the data"
train 64 "{$IMAGES,$CATEGORIES}" --canvases 96x
says "--canvases: "

echo "no objects at all"
refused 'none of its images has annotations' "{$IMAGES,$CATEGORIES,\"annotations\":[]}"
refused 'none of its 1 images has an object to train on: its 1 annotations are crowds, or their boxes' \
    "{$IMAGES,$CATEGORIES,
    \"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3,\"bbox\":[10,12,0,0],\"area\":0}]}"

echo "annotations that say nothing"
refused 'annotation 1: no "bbox"' \
    "{$IMAGES,$CATEGORIES,\"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3}]}"
refused 'annotation 1: its category is not in "categories"' \
    "{$IMAGES,\"categories\":[{\"id\":4,\"name\":\"other\"}],\"annotations\":[{$OBJECT}]}"
refused 'annotation 1: its mask is 10 x 20; expected 128 x 128, as its image is' \
    "{$IMAGES,$CATEGORIES,
    \"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3,\"bbox\":[1,1,4,4],\"area\":9,
    \"segmentation\":{\"size\":[20,10],\"counts\":[5,9,186]}}]}"

echo "pictures that are not what the set says"
train 66 "{\"images\":[{\"id\":7,\"file_name\":\"a.jpg\",\"width\":100,\"height\":128}],
    $CATEGORIES,\"annotations\":[{$OBJECT}]}"
says "$work/set/train/a.jpg: 128 x 128 pixels, but 100 x 128 in $json"
train 66 "{\"images\":[{\"id\":7,\"file_name\":\"b.jpg\",\"width\":128,\"height\":128}],
    $CATEGORIES,\"annotations\":[{$OBJECT}]}"
says "$work/set/train/b.jpg"
refused 'image 7: width 0 and height 128' \
    "{\"images\":[{\"id\":7,\"file_name\":\"a.jpg\",\"width\":0,\"height\":128}],
    $CATEGORIES,\"annotations\":[{$OBJECT}]}"

echo "names that lead out of the folder"
for name in ../train/a.jpg "$work/set/train/a.jpg" sub/../a.jpg; do
    refused "image 7: \"file_name\": '$name' leads out of the folder of pictures" \
        "{\"images\":[{\"id\":7,\"file_name\":\"$name\",\"width\":128,\"height\":128}],
        $CATEGORIES,\"annotations\":[{$OBJECT}]}"
done

echo "files that are no pictures"
GOOD="{$IMAGES,$CATEGORIES,\"annotations\":[{$OBJECT}]}"
# spoilt WORDS COMMAND...: COMMAND makes another file in place of the picture's, which is refused
# with WORDS.
spoilt() {
    spoilt_words=$1
    shift
    set_of "$GOOD"
    rm "$work/set/train/a.jpg"
    "$@"
    run 66
    says "$work/set/train/a.jpg: $spoilt_words"
}
spoilt "not a regular file" mkdir "$work/set/train/a.jpg"
spoilt "not a regular file" mkfifo "$work/set/train/a.jpg"
spoilt "the file is empty" touch "$work/set/train/a.jpg"
spoilt "Too many levels of symbolic links" ln -s a.jpg "$work/set/train/a.jpg"
first_half() { head -c $(($(wc -c <"$picture") / 2)) "$picture" >"$work/set/train/a.jpg"; }
spoilt "JPEG: truncated: the file ends after " first_half

echo "numbers that are none, and lists without end"
refused 'annotation 1: "bbox": byte ' \
    "{$IMAGES,$CATEGORIES,
    \"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3,\"bbox\":[1,1,NaN,4]}]}"
refused 'annotation 1: "segmentation": byte ' \
    "{$IMAGES,$CATEGORIES,
    \"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3,\"bbox\":[1,1,4,4],
    \"segmentation\":[[1,1,Infinity,1,5,5]]}]}"
refused 'image 7: "height": 2147483648 pixels; expected 0 to 2147483647' \
    "{\"images\":[{\"id\":7,\"file_name\":\"a.jpg\",\"width\":128,\"height\":2147483648}],
    $CATEGORIES,\"annotations\":[{$OBJECT}]}"
deep=$(awk 'BEGIN {
    for (i = 0; i < 100000; i++) printf "["
    for (i = 0; i < 100000; i++) printf "]"
}')
refused 'byte ' "{\"info\":$deep,$IMAGES,$CATEGORIES,\"annotations\":[{$OBJECT}]}"
says 'nested'
for preset in tv d2; do
    train 66 "{$IMAGES,$CATEGORIES,
        \"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3,\"bbox\":[10,12,40,30],
        \"segmentation\":[[10,12,1e300,12,50,42]]}]}" --preset "$preset"
    says "$json: annotation 1: coordinate 1e+300 of a polygon; expected -1000000 to 1000000 pixels"
done

echo "what cannot be scored is found before the first step"
# unscored WORDS KEYS: a validation set with these further keys of its annotation is refused before
# the first step.
unscored() {
    set_of "$GOOD"
    cp -r "$work/set/train" "$work/set/val"
    printf '%s\n' "{$IMAGES,$CATEGORIES,
        \"annotations\":[{\"id\":5,\"image_id\":7,\"category_id\":3,\"bbox\":[10,12,40,30]$2}]}" \
        >"$work/set/annotations/instances_val.json"
    run 66 --validation "$work/set"
    says "the validation data: $work/set/annotations/instances_val.json: annotation 5: $1"
    ! grep -q '^train step=' "$work/out" || fail "a step before that"
}
unscored 'no "area"' ''
unscored 'no mask' ',"area":9'
same='"id":4,"image_id":7,"category_id":3,"bbox":[10,12,40,30],"area":9,
    "segmentation":[[1,1,9,1,5,5]]'
set_of "$GOOD"
cp -r "$work/set/train" "$work/set/val"
printf '%s\n' "{$IMAGES,$CATEGORIES,\"annotations\":[{$same},{$same},{$same}]}" \
    >"$work/set/annotations/instances_val.json"
run 0 --validation "$work/set"
says "$work/set/annotations/instances_val.json: 2 annotations have the id of a later one, which is scored in their place"
unscored "the mask's 3 runs add up to 32 pixels; expected 128 x 128, its size" \
    ',"area":9,"iscrowd":1,"segmentation":{"size":[128,128],"counts":[5,9,18]}'
unscored 'coordinate 1e+300 of a polygon' ',"area":9,"segmentation":[[1,1,1e300,1,5,5]]'

echo "a picture to evaluate on that is not there is missed before the first step"
set_of "$GOOD"
cp -r "$work/set/train" "$work/set/val"
printf '%s\n' "{$IMAGES,$CATEGORIES,\"annotations\":[{$same}]}" \
    >"$work/set/annotations/instances_val.json"
find "$work/set/val" -type f -delete
run 66 --validation "$work/set"
says "No such file or directory (1 such files; ringtrain inspect coco finds all"
! grep -q '^train step=' "$work/out" || fail "a step before that"

echo "ids that are odd, or come again"
refused 'category -3: a negative "id"; expected 0 or more' \
    "{$IMAGES,\"categories\":[{\"id\":-3,\"name\":\"form\"}],\"annotations\":[{$OBJECT}]}"
refused 'category number 1 (its id is not a whole number of 64 bits): "id": ' \
    "{$IMAGES,\"categories\":[{\"id\":9223372036854775808,\"name\":\"form\"}],
    \"annotations\":[{$OBJECT}]}"
train 0 "{\"images\":[{\"id\":7,\"file_name\":\"gone.jpg\",\"width\":9,\"height\":9},
    {\"id\":7,\"file_name\":\"a.jpg\",\"width\":128,\"height\":128}],
    \"categories\":[{\"id\":0,\"name\":\"a\"},{\"id\":2147483648,\"name\":\"b\"},
    {\"id\":0,\"name\":\"c\"}],
    \"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":0,\"bbox\":[10,12,40,30]},
    {\"id\":1,\"image_id\":7,\"category_id\":2147483648,\"bbox\":[20,12,40,30]},
    {\"id\":2,\"image_id\":70,\"category_id\":0,\"bbox\":[20,12,40,30]}]}"
says "1 picture, 2 objects of 2 categories; 1 repeated image id (the last counts); 1 repeated category id (the last counts); 1 annotation of an image that is not listed left out"

echo "no folder of pictures beside the JSON"
set_of "{$IMAGES,$CATEGORIES,\"annotations\":[{$OBJECT}]}"
rm -r "$work/set/train"
run 66
says "$json: no folder with the pictures of 'train' beside it"

echo "pictures that are scaled before the network sees them are reported"
big='"images":[{"id":7,"file_name":"a.jpg","width":1300,"height":1300}]'
train 66 "{$big,$CATEGORIES,\"annotations\":[{$OBJECT}]}"
says "$work/set/train: 1 of 1 pictures with more than 1500000 pixels: scaled before they reach the network, with antialias"

echo "boxes outside are counted, and cut"
train 0 "{$IMAGES,$CATEGORIES,\"annotations\":[{$OBJECT},
    {\"id\":2,\"image_id\":7,\"category_id\":3,\"bbox\":[100,100,60,60],\"area\":3600},
    {\"id\":3,\"image_id\":7,\"category_id\":3,\"bbox\":[300,300,10,10],\"area\":100}]}"
says "1 picture, 2 objects of 1 category; 1 box without area left out; 1 box cut at the picture's edge; 1 object without outline"

echo "of 2,000 objects those that have a slot count"
# many: prints 2,000 annotations.
many() {
    awk -v object="$OBJECT" 'BEGIN {
        for (i = 1; i <= 2000; i++) {
            line = object
            sub("\"id\":1", "\"id\":" i, line)
            sub("10,12,40,30", (i % 80) "," (i % 70) ",40,30", line)
            printf "%s{%s}", (i == 1 ? "" : ","), line
        }
    }'
}
echo \
  "many large masks have room in a batch of one picture: 100 of 16 bytes times 128 rows are 200 KiB"
all=$(awk 'BEGIN {
    for (i = 1; i <= 100; i++)
        printf "%s{\"id\":%d,\"image_id\":7,\"category_id\":3,\"bbox\":[0,0,128,128]," \
            "\"area\":1,\"segmentation\":[[0,0,128,0,128,128,0,128]]}",
            (i == 1 ? "" : ","), i
}')
train 0 "{$IMAGES,$CATEGORIES,\"annotations\":[$all]}" --gt-slots 100
! grep -q "did not fit" "$work/err" || fail "masks without room"

echo "boxes that say less than their masks: of masks those stay that the batch has room for, 64 in 128 KiB"
train 0 "{$IMAGES,$CATEGORIES,
    \"annotations\":[$(printf '%s' "$all" | sed 's/\[0,0,128,128\]/[0,0,9,9]/g')]}" --gt-slots 100
says "$work/set/train: 36 masks, the smallest of a batch, did not fit into it; their boxes and labels are used"
says "$work/set/train: in all 36 masks"

echo "2,000 objects, as bits and as outlines"
for preset in tv d2; do
    train 0 "{$IMAGES,$CATEGORIES,\"annotations\":[$(many)]}" --preset "$preset" --gt-slots 100
    says "1 picture, 2000 objects of 1 category"
    says "$json: 1 picture with more than 100 objects (at most 2000): the smallest 1900 are left out (--gt-slots)"
done
