#!/bin/sh
# Tests uncompressed pictures: the binary files of CIFAR and MNIST, PNM in folders, and shards that
# `prepare` decodes. Each trains the model of the same pixels in another format, bit for bit.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"

# train DATA NAME FLAGS...
train() {
    from=$1 name=$2
    shift 2
    code 0 "$ringtrain" train $common --data "$from" --checkpoint-dir "$work/$name.checkpoints" \
        --model-dir "$work/$name" --seed 5 --steps 8 --epochs 2 "$@"
}

for kind in cifar idx; do
    python3 "$(dirname "$0")/raw_sets.py" "$kind" "$work/$kind"
    train "$work/$kind/folder" "$kind-folder"
    train "$work/$kind/$kind" "$kind"
    prints '80 pictures in 1 shard of the format '"$kind"
    same_model "$kind-folder" "$kind"
    code 0 "$ringtrain" eval --model-dir "$work/$kind" \
        --data "$work/$kind/$kind" --threads 1 --data-threads 1
    prints 'images=30'
done

echo "CIFAR's file of class names is used"
printf 'airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n' \
    >"$work/cifar/cifar/batches.meta.txt"
code 0 "$ringtrain" inspect data "$work/cifar/cifar"
prints '80 pictures in 10 classes'
prints 'airplane'

echo "binaries become shards, which hold the same pixels"
for format in tar tfrecord recordio; do
    code 0 "$ringtrain" prepare folder "$work/idx/idx" "$work/idx-$format" --format "$format"
    train "$work/idx-$format" "idx-in-$format"
    same_model idx "idx-in-$format"
done

echo "decoded pictures train what encoded ones train"
make_data 120 40
train "$data" jpeg
for format in tar tfrecord recordio; do
    code 0 "$ringtrain" prepare folder "$data" "$work/raw-$format" --format "$format" --raw true \
        --shards 2
    train "$work/raw-$format" "raw-$format"
    same_model jpeg "raw-$format"
done
python3 -c 'import sys, tarfile
names = tarfile.open(sys.argv[1]).getnames()
assert sum(n.endswith(".ppm") for n in names) == 60, names' \
    "$work/raw-tar/train-00000-of-00002.tar"
code 0 "$ringtrain" prepare folder "$data" "$work/raw-small" --raw true --resize 16
code 0 "$ringtrain" inspect data "$work/raw-small"
prints 'width 16 to 16, height 16 to 16'
code 65 "$ringtrain" prepare folder "$data" "$work/raw-small" --resize 16
prints 'holds shards of another set or with other flags'

echo "what does not fit is refused"
head -c 5000 "$work/cifar/cifar/data_batch_1.bin" >"$work/part" &&
    mv "$work/part" "$work/cifar/cifar/data_batch_1.bin"
code 66 "$ringtrain" train $common --data "$work/cifar/cifar" --steps 2 \
    --checkpoint-dir "$work/x.c" --model-dir "$work/x"
prints 'data_batch_1.bin: at byte 3073: the file ends within a picture'
rm "$work/idx/idx/train-labels-idx1-ubyte"
code 66 "$ringtrain" train $common --data "$work/idx/idx" --steps 2 --checkpoint-dir "$work/x.c" \
    --model-dir "$work/x"
prints 'labels of .*train-images-idx3-ubyte: .*train-labels-idx1-ubyte: No such file'
code 64 "$ringtrain" prepare folder "$data" "$work/y" --format cifar10
prints "unknown format 'cifar10'; expected tar, tfrecord or recordio"

