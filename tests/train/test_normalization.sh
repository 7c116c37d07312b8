#!/bin/sh
# Tests --mean and --std: the values found in the data are those that `inspect data` prints, the
# model carries them to evaluation, and ranks agree on them. Also tests the contact sheet.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 40

# train NAME FLAGS...
train() {
    name=$1
    shift
    code 0 "$ringtrain" train $common --data "$data" --checkpoint-dir "$work/$name.checkpoints" \
        --model-dir "$work/$name" --seed 5 --steps 12 --epochs 2 "$@"
}

echo "the mean of the data is that of inspect data"
code 0 "$ringtrain" inspect data "$data/train" --contact-sheet "$work/sheet.png"
flags=$(sed -n 's/.*blue: \(--mean .* --std .*\)/\1/p' "$work/out")
[ -n "$flags" ] || fail "no mean is printed"
grep -q 'balance: the largest class, .*, has 1.0 times the pictures of the smallest' "$work/out" ||
    fail "no balance is printed"
train data --mean data
prints "pictures are normalized by $flags"
train again --mean data
same_model data again
python3 - "$work/data/config.json" $flags <<'END'
import json, sys
model = json.load(open(sys.argv[1]))
for name, text in (("mean", sys.argv[3]), ("std", sys.argv[5])):
    for got, said in zip(model[name], text.split(",")):
        assert abs(got - float(said)) < 6e-5, (name, model[name], text)
END
checks=$((checks + 1))
code 0 "$ringtrain" eval --model-dir "$work/data" --data "$data" --threads 1 --data-threads 1
prints 'images=40'

echo "numbers: of pixels up to 1 or up to 255; those of ImageNet are the default"
train plain
train one --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
same_model plain one
train full --mean 123.68,116.779,103.939 --std 58.393,57.12,57.375
prints 'normalized by --mean 0.4850,0.4580,0.4076 --std 0.2290,0.2240,0.2250'
cmp -s "$work/plain/model.safetensors" "$work/full/model.safetensors" &&
    fail "the mean changes nothing"

if can_mpirun; then
    echo "two ranks find the same mean"
    code 0 mpirun $mpi -np 2 "$ringtrain" train $common --data "$data" --steps 6 --seed 5 \
        --mean data --checkpoint-dir "$work/two.checkpoints" --model-dir "$work/two"
    prints "pictures are normalized by $flags"
fi

echo "the contact sheet is a picture with a row for each class"
python3 - "$work/sheet.png" <<'END'
import struct, sys
head = open(sys.argv[1], "rb").read(24)
assert head[:8] == b"\x89PNG\r\n\x1a\n"
width, height = struct.unpack(">II", head[16:24])
assert width == 4 + 10 * 100 and height % 4 == 0 and height // 4 > 100, (width, height)
END
checks=$((checks + 1))
code 0 "$ringtrain" inspect data "$data" --contact-sheet "$work/sheet.jpg"
[ "$(head -c 2 "$work/sheet.jpg" | od -An -tx1)" = " ff d8" ] || fail "no JPEG"

echo "wrong values"
refuses() {
    expected=$1
    shift
    code 64 "$ringtrain" train $common --data "$data" --steps 2 --checkpoint-dir "$work/x.c" \
        --model-dir "$work/x" "$@"
    prints "$expected"
}
refuses 'expected numbers for both' --mean 0.5,0.5,0.5
refuses 'expected numbers for both' --std 0.5,0.5,0.5
refuses 'expected imagenet, data, or three numbers' --mean 0.5,0.5 --std 0.5,0.5,0.5
refuses 'expected imagenet, data, or three numbers' --mean 1,2,300 --std 0.5,0.5,0.5
refuses 'expected at least 0.001' --mean 0.5,0.5,0.5 --std 0,1,1
code 64 "$ringtrain" train $common --data synthetic --steps 2 --mean data \
    --checkpoint-dir "$work/x.c" --model-dir "$work/x"
prints 'the synthetic set has no pictures'
code 64 "$ringtrain" inspect data "$data" --contact-sheet "$work/sheet.gif"
prints 'expected a file that ends in .png or .jpg'
