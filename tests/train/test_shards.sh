#!/bin/sh
# Tests that the same pictures in a folder and in shards of each format give the same training, bit
# for bit, also after a resume and on two ranks; and that faults in shards are reported.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 40

prepare() {
    code 0 "$ringtrain" prepare folder "$@"
}

# train DATA NAME FLAGS...
train() {
    from=$1 name=$2
    shift 2
    code 0 "$ringtrain" train $common --data "$from" --checkpoint-dir "$work/$name.checkpoints" \
        --model-dir "$work/$name" --seed 5 "$@"
}

echo "each format trains the model that the folder trains"
train "$data" folder --steps 30 --epochs 2
for format in tar tfrecord recordio; do
    prepare "$data" "$work/in-$format" --format "$format" --shards 3
    prints '200 pictures in 4 shards'
    train "$work/in-$format" "$format" --steps 30 --epochs 2
    prints "160 pictures in 3 shards of the format $format"
    same_model folder "$format"
done

echo "a tar of the class folders, and shards made of shards, are the same set"
mkdir "$work/tars"
tar -C "$data" -cf "$work/tars/train.tar" train
tar -C "$data" -cf "$work/tars/val.tar" val
train "$work/tars" tars --steps 30 --epochs 2
same_model folder tars
prepare "$work/in-tfrecord" "$work/again" --format tar --shards 3
cmp "$work/again/train-00001-of-00003.tar" "$work/in-tar/train-00001-of-00003.tar" ||
    fail "shards of shards differ"

echo "a run goes on from the folder's checkpoint with shards, and no other data is reported"
train "$data" begun --steps 15 --epochs 2
train "$work/in-tar" begun --steps 30 --epochs 2
prints 'resumed from'
! grep -q 'other data' "$work/err" || fail "shards count as other data"

echo "evaluation and inspection read shards"
code 0 "$ringtrain" eval --model-dir "$work/folder" --data "$work/in-tfrecord" --threads 1 \
    --data-threads 1
prints 'images=40'
code 0 "$ringtrain" inspect data "$work/in-recordio"
prints '160 pictures in 4 classes'

if can_mpirun; then
    echo "two ranks read the same shards"
    for set in "$data" "$work/in-tar"; do
        name=two-$(basename "$set")
        code 0 mpirun $mpi -np 2 "$ringtrain" train $common --data "$set" --steps 10 --seed 5 \
            --checkpoint-dir "$work/$name.checkpoints" --model-dir "$work/$name"
    done
    same_model "two-$(basename "$data")" two-in-tar
fi

echo "the index is read in place of the shards, and one that does not belong to them is reported"
[ -f "$work/in-tar/train.rtix" ] && [ -f "$work/in-tar/validation-00000-of-00001.tar.rtix" ] ||
    fail "prepare wrote no index"
code 0 "$ringtrain" train $common --data "$work/in-tar" --steps 2 --checkpoint-dir "$work/i.c" \
    --model-dir "$work/i"
prints 'from their index'
rm "$work/tars/train.tar.rtix"
code 0 "$ringtrain" train $common --data "$work/tars/train.tar" --steps 2 \
    --checkpoint-dir "$work/i.c" --model-dir "$work/i"
prints 'their index was written'
code 0 "$ringtrain" train $common --data "$work/in-tar" --steps 2 --checkpoint-dir "$work/i.c" \
    --model-dir "$work/i" --index none
! grep -q 'their index' "$work/err" || fail "an index was read although it was not to be"
cp -r "$work/in-tar" "$work/stale"
cp "$work/in-tar/train-00000-of-00003.tar" "$work/stale/train-00001-of-00003.tar"
code 0 "$ringtrain" train $common --data "$work/stale" --steps 2 --checkpoint-dir "$work/stale.c" \
    --model-dir "$work/stale.m" --index read
prints 'stale/train.rtix: stale: train-00001-of-00003.tar has changed since; the shards are scanned'
cp "$work/in-tar/train-00001-of-00003.tar" "$work/stale"
printf 'x' | dd of="$work/stale/train.rtix" bs=1 seek=200 conv=notrunc 2>/dev/null
train "$work/stale" mended --steps 30 --epochs 2
prints 'train.rtix: damaged (the checksum of a section is wrong); the shards are scanned'
prints 'their index was written'
same_model folder mended
cmp "$work/stale/train.rtix" "$work/in-tar/train.rtix" || fail "the index was not written anew"

echo "damage is named with its shard and place, and left out where that is asked for"
cp -r "$work/in-tfrecord" "$work/damaged"
shard=$work/damaged/train-00001-of-00003.tfrecord
size=$(wc -c <"$shard")
head -c $((size - 10)) "$shard" >"$work/part" && mv "$work/part" "$shard"
code 66 "$ringtrain" train $common --data "$work/damaged" --steps 2 --checkpoint-dir "$work/d.c" \
    --model-dir "$work/d"
prints 'train-00001-of-00003.tfrecord: at byte [0-9]*: the file ends within a record'
code 0 "$ringtrain" train $common --data "$work/damaged" --steps 2 --checkpoint-dir "$work/d.c" \
    --model-dir "$work/d" --bad-samples 1
prints '1 record cannot be used, the first:'
head -c $((size / 5)) "$shard" >"$work/part" && cp "$work/part" "$shard"
code 66 "$ringtrain" train $common --data "$work/damaged" --steps 2 --checkpoint-dir "$work/d.c" \
    --model-dir "$work/d" --bad-samples 1
prints '[0-9][0-9] records cannot be used; --bad-samples 1 are allowed'
rm "$work/damaged/train.rtix"
code 66 "$ringtrain" train $common --data "$work/damaged" --steps 2 --checkpoint-dir "$work/d.c" \
    --model-dir "$work/d" --bad-samples 50
prints 'no index says how many records they hold'
code 0 "$ringtrain" train $common --data "$work/damaged" --steps 2 --checkpoint-dir "$work/d.c" \
    --model-dir "$work/d" --bad-samples skip
prints 'no index: scanning 3 shards, 0.000 GB; the next start reads the index'
prints 'warning.*at least 1 record cannot be used and [0-9]* bytes are not readable, the first:'
cp -r "$work/in-tfrecord" "$work/flipped"
printf 'x' |
    dd of="$work/flipped/train-00000-of-00003.tfrecord" bs=1 seek=300 conv=notrunc 2>/dev/null
code 66 "$ringtrain" train $common --data "$work/flipped" --epochs 1 --checkpoint-dir "$work/e.c" \
    --model-dir "$work/e"
prints 'the checksum of a record is wrong'
gzip -k "$work/tars/train.tar"
code 66 "$ringtrain" train $common --data "$work/tars/train.tar.gz" --steps 2 \
    --checkpoint-dir "$work/f.c" --model-dir "$work/f"
prints 'unpack it with gunzip'
code 66 "$ringtrain" train $common --data "$work/nothing*" --steps 2 --checkpoint-dir "$work/f.c" \
    --model-dir "$work/f"

echo "shards are made again only where they are missing"
rm "$work/in-tar/train-00002-of-00003.tar"
prepare "$data" "$work/in-tar" --format tar --shards 3
prints '3 of these were there already'
code 65 "$ringtrain" prepare folder "$data" "$work/in-tar" --format tar --shards 4
prints 'holds shards of another set or with other flags'
code 64 "$ringtrain" prepare folder "$data" "$work/g" --format tat
prints 'did you mean tar?'

if can_kill_at; then
    echo "a run that is killed in a write goes on, and makes what an undisturbed one makes"
    for call in write fsync rename; do
        killed_at $call 9 "$ringtrain" prepare folder "$data" "$work/killed" --format tar \
            --shards 40 --threads 1
        [ "$(find "$work/killed" -name 'train-*.partial-*' | wc -l)" = 1 ] ||
            fail "no shard was being written: $(ls -A "$work/killed")"
    done
    prepare "$data" "$work/killed" --format tar --shards 40
    prints '[1-9][0-9]* of these were there already'
    prepare "$data" "$work/undisturbed" --format tar --shards 40
    [ "$(ls -A "$work/killed")" = "$(ls -A "$work/undisturbed")" ] || fail "other files"
    for file in "$work/undisturbed"/*; do
        cmp "$file" "$work/killed/$(basename "$file")" || fail "another $file"
    done
    checks=$((checks + 1))
fi

echo "a target within its source, and names that differ in case alone"
code 64 "$ringtrain" prepare folder "$data" "$data/out"
prints "out: lies in the source $data, of which it would become a part"
[ ! -e "$data/out" ] || fail "the target was made"
cp -r "$data/train" "$work/alike"
mkdir "$work/alike/Circle"
first=$(find "$work/alike/circle" -name '*.jpg' | sort | head -n 1)
second=${first%.jpg}.JPG
cp "$first" "$second"
cp "$first" "$work/alike/Circle/one.jpg"
prepare "$work/alike" "$work/alike-tar"
prints "the classes 'Circle' and 'circle' differ in upper and lower case alone (1 such pair)"
! grep -q "the pictures '" "$work/err" || fail "shards keep both pictures"
prepare "$work/alike" "$work/alike-folders" --format folder
prints "the pictures '$(basename "$second")' and '$(basename "$first")' of a class differ in upper"

echo "large pictures are scaled down, small ones are copied"
prepare "$data" "$work/small" --resize 20
code 0 "$ringtrain" inspect data "$work/small"
prints 'width 20 to 20, height 20 to 20'
prepare "$data" "$work/large" --resize 41
code 0 "$ringtrain" inspect data "$work/large"
prints 'width 40 to 40, height 40 to 40'
