#!/bin/sh
# Tests `ringtrain export --onnx`: onnx's checker accepts the files, and onnxruntime computes from
# them what predict answers, for single pictures and for batches.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
python=${RINGMASTER_ONNX_PYTHON:-$top/build/onnx/bin/python}
[ -x "$python" ] ||
    sh "$top/tests/venv.sh" onnx onnx==1.23.2 onnxruntime==1.32.0 pillow==13.0.0 \
        >"$work/venv" 2>&1 ||
    { cat "$work/venv"; skip "onnx and onnxruntime are not here"; }
make_data 32 12

steps=2 batch=4
# exported MODEL FLAGS...: trains a network for a few steps, exports it for both kinds of input, and
# compares the answers.
exported() {
    model=$1
    shift
    code 0 "$ringtrain" train --model "$model" --data "$data" --steps $steps --batch-size $batch \
        --threads 1 --data-threads 1 --log metrics --validation none \
        --checkpoint-dir "$work/c-$model" --model-dir "$work/$model" "$@"
    for input in f32 u8; do
        code 0 "$ringtrain" export --model-dir "$work/$model" --onnx "$work/$model-$input.onnx" \
            --input $input
    done
    side=$(sed -n 's/.*"image_size": *\([0-9]*\).*/\1/p' "$work/$model/config.json")
    "$python" "$top/tests/train/onnx_compare.py" pictures "$data/val" "$work/pictures-$side" \
        "$side" || fail "no pictures"
    # The pictures have the network's input size, so that only the network is compared.
    code 0 "$ringtrain" predict --model-dir "$work/$model" --out "$work/p-$model" --threads 1 \
        --resize "$side" "$work/pictures-$side"
    "$python" "$top/tests/train/onnx_compare.py" compare "$work/p-$model/predictions.json" \
        "$work/$model-f32.onnx" "$work/$model-u8.onnx" ||
        fail "$model: onnxruntime computes something else"
    checks=$((checks + 1))
}

exported resnet20
exported resnet18 --image-size 64
exported resnet50 --image-size 64
exported resnext50_32x4d --image-size 64
if [ -n "${RINGMASTER_LONG:-}" ]; then
    exported vgg16
    # The running statistics need some steps to approach those of the activations; until then the
    # logits are large.
    steps=30 batch=2
    exported inception_v3 --lr 0.0001
fi

echo "what is not written"
code 0 "$ringtrain" export --model-dir "$work/resnet20" --onnx "$work/resnet20-u8.onnx"
echo mine >"$work/mine"
code 65 "$ringtrain" export --model-dir "$work/resnet20" --onnx "$work/mine"
says "--onnx"
code 64 "$ringtrain" export --model-dir "$work/resnet20"
says "--onnx is missing"
code 66 "$ringtrain" export --model-dir "$work/nothing" --onnx "$work/x.onnx"
says "nothing"
