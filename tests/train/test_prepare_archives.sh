#!/bin/sh
# Tests data sets from the archives in which they are published, with small archives of the same
# layout: they train the model that their pictures in folders train, an interrupted run continues,
# and errors are reported.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 40
from=$work/archives
python3 "$(dirname "$0")/published_archives.py" "$data" "$from"

prepare() {
    code 0 "$ringtrain" prepare "$@"
}

# train DATA NAME
train() {
    code 0 "$ringtrain" train $common --data "$1" --checkpoint-dir "$work/$2.checkpoints" \
        --model-dir "$work/$2" --seed 5 --steps 20 --epochs 2
}

echo "flowers: a share of each class is held out, and folders and shards of it train the same"
prepare flowers "$from/flower_photos.tgz" "$work/flowers" --val-split 0.25
prints '160 pictures in 2 shards of the format tar'
[ ! -e "$work/flowers/.ringtrain-source" ] || fail "the unpacked archive is still there"
prepare flowers "$from/flower_photos.tgz" "$work/flower-folders" --val-split 0.25 --format folder
prints '160 pictures in folders of classes'
[ "$(find "$work/flower-folders/validation" -name '*.jpg' | wc -l)" = 40 ] ||
    fail "not a quarter is held out"
[ "$(ls -A "$work/flower-folders")" = "$(printf '.ringtrain-prepare\ntrain\nvalidation')" ] ||
    fail "something else lies there"
train "$work/flowers" flowers-tar
train "$work/flower-folders" flowers-folder
same_model flowers-tar flowers-folder
for file in "$work/flower-folders/train"/*/*.jpg; do
    cmp "$file" "$data/train/${file#"$work/flower-folders/train/"}" || fail "another picture"
done

echo "folders: what is missing is made again, and nothing else"
rm "$(find "$work/flower-folders/train" -name '*.jpg' | head -n 1)"
prepare flowers "$from/flower_photos.tgz" "$work/flower-folders" --val-split 0.25 --format folder
prints '159 of these were there already'
code 65 "$ringtrain" prepare flowers "$from/flower_photos.tgz" "$work/flower-folders" \
    --format folder
prints 'holds shards of another set or with other flags'

echo "CIFAR: names of classes, 32 x 32 pixels"
prepare cifar "$from/cifar-10-binary.tar.gz" "$work/cifar" --format tfrecord
prints '120 pictures in 2 shards'
code 0 "$ringtrain" inspect data "$work/cifar"
prints '100 pictures in 10 classes'
prints '10  airplane'
prints 'width 32 to 32'
prepare cifar "$from/cifar-10-binary.tar.gz" "$work/cifar-folders" --format folder
[ -f "$work/cifar-folders/train/truck/00000009.ppm" ] || fail "no picture of the last class"
code 66 "$ringtrain" prepare cifar "$from/cifar-10-python.tar.gz" "$work/python"
prints 'expected the binary version of CIFAR'

echo "ImageNet: a tar of tars, and a tar of pictures whose classes are in a file"
prepare imagenet "$from/ILSVRC2012_img_train.tar" "$from/ILSVRC2012_img_val.tar" "$work/imagenet" \
    --val-labels "$from/synsets.txt" --shards 3
prints '200 pictures in 4 shards'
prepare imagenet "$from/ILSVRC2012_img_val.tar" "$from/ILSVRC2012_img_train.tar" \
    "$work/imagenet-csv" --format folder --val-labels "$from/solution.csv"
prints '200 pictures in folders'
train "$work/imagenet" imagenet-tar
train "$work/imagenet-csv" imagenet-folder
same_model imagenet-tar imagenet-folder
for file in "$work/imagenet-csv/validation"/*/*.JPEG; do
    class=$(basename "$(dirname "$file")")
    cat "$data/val/$class"/*.jpg >"$work/all"
    python3 -c 'import sys
sys.exit(open(sys.argv[1], "rb").read() not in open(sys.argv[2], "rb").read())' \
        "$file" "$work/all" || fail "$file is of another class"
done
prepare imagenet "$from/ILSVRC2012_img_train.tar" "$from/ILSVRC2012_img_val.tar" \
    "$work/imagenet-tfrecord" --val-labels "$from/synsets.txt" --shards 3 --format tfrecord
train "$work/imagenet-tfrecord" imagenet-tfrecord
prints 'classes are counted from 1 here'
same_model imagenet-tar imagenet-tfrecord
prepare folder "$work/imagenet-tfrecord" "$work/imagenet-back" --shards 3
cmp "$work/imagenet-back/train-00001-of-00003.tar" "$work/imagenet/train-00001-of-00003.tar" ||
    fail "labels from 1 are another set"
train "$from/ILSVRC2012_img_train.tar" imagenet-archive
same_model imagenet-archive imagenet-tar
prepare imagenet "$from/ILSVRC2012_img_train.tar" "$work/train-alone" --format recordio
prints 'the training part alone is written'
code 64 "$ringtrain" prepare imagenet "$from/ILSVRC2012_img_train.tar" \
    "$from/ILSVRC2012_img_val.tar" "$work/no-labels"
prints 'expected --val-labels FILE'
code 66 "$ringtrain" prepare imagenet "$from/ILSVRC2012_img_train.tar" \
    "$from/ILSVRC2012_img_val.tar" "$work/ids" --val-labels "$from/ids.txt"
prints "class '1' is a number"
head -n 39 "$from/synsets.txt" >"$work/short.txt"
code 66 "$ringtrain" prepare imagenet "$from/ILSVRC2012_img_train.tar" \
    "$from/ILSVRC2012_img_val.tar" "$work/short" --val-labels "$work/short.txt"
prints '40 pictures with names, and classes of 39'
code 64 "$ringtrain" prepare imagenet "$from/ILSVRC2012_img_val.tar" "$work/none"
prints 'no training archive given'

echo "COCO: archives are unpacked and verified; what is there is kept"
prepare coco "$from/train2017.zip" "$from/val2017.zip" "$from/annotations_trainval2017.zip" \
    "$work/coco" --threads 2
prints '202 files'
[ "$(find "$work/coco/train2017" "$work/coco/val2017" -name '*.jpg' | wc -l)" = 200 ] ||
    fail "not all pictures are there"
python3 -m zipfile -e "$from/val2017.zip" "$work/unzipped"
diff -r "$work/unzipped/val2017" "$work/coco/val2017" || fail "other files than unzip makes"
python3 -m zipfile -e "$from/annotations_trainval2017.zip" "$work/unzipped"
diff -r "$work/unzipped/annotations" "$work/coco/annotations" ||
    fail "other annotations than unzip makes"
rm "$work/coco/annotations/instances_val2017.json"
prepare coco "$from/train2017.zip" "$from/val2017.zip" "$from/annotations_trainval2017.zip" \
    "$work/coco"
prints '201 of these were there already'
code 66 "$ringtrain" prepare coco "$from/broken.zip" "$work/broken"
prints 'its checksum is wrong'
code 66 "$ringtrain" prepare coco "$from/hostile.zip" "$work/hostile"
prints 'expected a path below a folder'
[ ! -e "$work/outside.jpg" ] || fail "a file was written outside"
code 66 "$ringtrain" prepare coco "$from/ILSVRC2012_img_val.tar" "$work/no-zip"
prints 'not a zip archive'

if can_kill_at; then
    echo "a run that is killed in a write goes on, and makes what an undisturbed one makes"
    # The archive is being unpacked, then pictures are written, synced and given their names.
    for at in 'fsync 3' 'write 9' 'write 50' 'syncfs 1' 'rename 9' 'rename 50'; do
        killed_at ${at% *} ${at#* } "$ringtrain" prepare flowers "$from/flower_photos.tgz" \
            "$work/killed" --format folder --threads 1
        [ -n "$(find "$work/killed/.ringtrain-writing" "$work/killed/.ringtrain-source" \
            -type f 2>/dev/null)" ] || fail "$at: nothing was being written"
    done
    prepare flowers "$from/flower_photos.tgz" "$work/killed" --format folder
    prints '[1-9][0-9]* of these were there already'
    prepare flowers "$from/flower_photos.tgz" "$work/undisturbed" --format folder
    diff -r "$work/killed" "$work/undisturbed" || fail "other files"
    checks=$((checks + 1))
fi

echo "damage, a full disk, targets and words"
head -c 20000 "$from/flower_photos.tgz" >"$work/cut.tgz"
code 66 "$ringtrain" prepare flowers "$work/cut.tgz" "$work/cut"
prints 'the file ends within its compressed data'
head -c 40000 "$from/ILSVRC2012_img_train.tar" >"$work/cut.tar"
code 66 "$ringtrain" prepare imagenet "$work/cut.tar" "$work/cut-imagenet"
prints 'the file ends within'
mkdir "$work/full"
touch "$work/full/file"
code 65 "$ringtrain" prepare flowers "$from/flower_photos.tgz" "$work/full"
prints 'not empty (file)'
if mkdir "$work/small" && mount -t tmpfs -o size=256k tmpfs "$work/small" 2>/dev/null; then
    code 65 "$ringtrain" prepare flowers "$from/flower_photos.tgz" "$work/small/flowers"
    prints 'GB are free'
    code 65 "$ringtrain" prepare coco "$from/train2017.zip" "$work/small/coco"
    prints 'GB are free'
    for flags in '--resize 20' '--raw true'; do
        code 65 "$ringtrain" prepare folder "$data" "$work/small/scaled" $flags
        prints 'GB are free'
    done
    umount "$work/small"

    echo "a disk that is full midway: what is there stays, and the run goes on when there is room"
    mount -t tmpfs -o size=4m tmpfs "$work/small"
    prepare folder "$data" "$work/whole" --shards 20
    prepare folder "$data" "$work/small/set" --shards 20
    rm "$work/small/set/"train-0000[5-9]*.tar "$work/small/set/"train-0001*.tar
    used=$(find "$work/small/set" -name 'train-*.tar' | wc -l)
    left=$(df --output=avail -k "$work/small" | tail -n 1)
    head -c $(((left - 48) * 1024)) /dev/zero >"$work/small/filler"
    code 65 "$ringtrain" prepare folder "$data" "$work/small/set" --shards 20
    prints 'No space left on device'
    [ "$(find "$work/small/set" -name 'train-*.tar' | wc -l)" -ge "$used" ] ||
        fail "shards were removed"
    [ -z "$(find "$work/small/set" -name '*partial*')" ] || fail "an unfinished shard is left"
    rm "$work/small/filler"
    prepare folder "$data" "$work/small/set" --shards 20
    diff -r "$work/whole" "$work/small/set" || fail "other files than without a full disk"
    umount "$work/small"
else
    skip_part "a full disk: no mount"
fi
code 64 "$ringtrain" prepare flowers "$from/flower_photos.tgz"
prints 'expected at least one source and the folder to write to'
code 64 "$ringtrain" prepare imagnet a b
prints 'did you mean imagenet?'
code 64 "$ringtrain" prepare coco "$from/val2017.zip" "$work/x" --resize 256
prints 'resize'
