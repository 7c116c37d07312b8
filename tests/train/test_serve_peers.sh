#!/bin/sh
# Tests that `ringtrain serve` answers a hundred pictures as onnxruntime does with the exported
# network and torchvision with its weights.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
"$ringtrain" version | grep -q '^serving: libmicrohttpd' || skip "this build cannot serve"
# If this Python has torch and torchvision, their answers are compared too.
python=${RINGMASTER_ONNX_PYTHON:-$top/build/onnx/bin/python}
[ -x "$python" ] ||
    sh "$top/tests/venv.sh" onnx onnx==1.23.2 onnxruntime==1.32.0 pillow==13.0.0 \
        >"$work/venv" 2>&1 ||
    { cat "$work/venv"; skip "onnx and onnxruntime are not here"; }
"$ringtrain" prepare shapes "$data" --train 64 --validation 100 --classes 4 --side 96 \
    >"$work/out" || fail "no data"
server=
trap stop_server EXIT

# agrees MODEL SIDE MOST: trains a network for some steps, serves it in batches of at most MOST and
# compares the answers.
agrees() {
    code 0 "$ringtrain" train --model "$1" --image-size "$2" --data "$data" --steps 6 \
        --batch-size 8 --lr 0.01 --lr-batch 8 --threads 1 --data-threads 1 --log metrics \
        --validation none --checkpoint-dir "$work/c-$1" --model-dir "$work/$1"
    code 0 "$ringtrain" export --model-dir "$work/$1" --onnx "$work/$1.onnx"
    "$ringtrain" serve --model-dir "$work/$1" --listen "$host" --port "$port" --threads 1 \
        --data-threads 2 --resize "$2" --max-batch "$3" --access-log false >"$work/log" 2>&1 &
    server=$!
    "$python" "$top/tests/train/serve_client.py" "$host:$port" wait || {
        cat "$work/log"
        fail "$1: no server"
    }
    find "$data/val" -name '*.jp*g' | sort >"$work/pictures"
    [ "$(wc -l <"$work/pictures")" = 100 ] || fail "not a hundred pictures"
    xargs "$python" "$top/tests/train/serve_peers.py" "$host:$port" "$work/$1.onnx" \
        "$work/$1"/*.safetensors "$1" <"$work/pictures" >"$work/out" 2>&1 ||
        { cat "$work/out" "$work/log"; fail "$1: other answers"; }
    cat "$work/out"
    grep -q onnxruntime "$work/out" || fail "$1: nothing was compared"
    ! grep -q "without torchvision" "$work/out" || skip_part "torchvision's answers"
    checks=$((checks + 1))
    kill -TERM "$server"
    wait "$server" || fail "$1: the server left with $?"
    server=
}
agrees resnet18 64 16
agrees resnet34 64 4
