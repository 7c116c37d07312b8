#!/bin/sh
# Measures serving: `ringtrain serve` in several types against onnxruntime in a Python server, with
# the same network, pictures, cores and clients, in turns. Prints p50, p99, pictures per second and
# processor time per picture of each round, and the medians with their ratios. onnxruntime computes
# in f32, as its kernels for x86-64 have no bf16.
#
#   sh bench/serve.sh [BIN]
#
#   MODEL=resnet50 CLIENTS="1 4 16 64" DTYPES="f32 bf16" ROUNDS=3 SECONDS_EACH=10 THREADS=2
#   PICTURES    a folder of JPEGs; by default pictures of shapes, 224 px wide and high
#   PYTHON      a Python with onnx, onnxruntime and Pillow; build/onnx by default (tests/venv.sh)
set -eu
cd "$(dirname "$0")/.."
bin=${1:-build/release/bin}
model=${MODEL:-resnet50}
clients=${CLIENTS:-1 4 16 64}
dtypes=${DTYPES:-f32 bf16}
rounds=${ROUNDS:-3}
seconds=${SECONDS_EACH:-10}
threads=${THREADS:-2}
python=${PYTHON:-build/onnx/bin/python}
[ -x "$python" ] || sh tests/venv.sh onnx onnx==1.23.2 onnxruntime==1.32.0 pillow==13.0.0
work=$(mktemp -d)
servers=
stop() {
    # shellcheck disable=SC2086  # a list
    [ -z "$servers" ] || kill $servers 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

"$bin/ringtrain" prepare shapes "$work/shapes" --train 64 --validation 16 --classes 4 \
    --side 224 >/dev/null
"$bin/ringtrain" train --model "$model" --data "$work/shapes" --validation none --steps 2 \
    --batch-size 4 --checkpoint-dir "$work/c" --model-dir "$work/model" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
"$bin/ringtrain" export --model-dir "$work/model" --onnx "$work/model.onnx" --input u8 >/dev/null
find "${PICTURES:-$work/shapes/val}" -name '*.jp*g' | sort | head -n 64 >"$work/pictures"

# answers PORT: waits until the server answers.
answers() {
    tries=0
    until "$python" -c 'import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/ping", timeout=5)' "$1" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { cat "$work"/served.*; echo "no server"; exit 1; }
        sleep 0.5
    done
}

# load SIDE CLIENTS SECONDS
load() {
    read -r of_port of_process <"$work/side.$1"
    xargs "$python" bench/serve_load.py "$of_port" "$of_process" "$2" "$3" <"$work/pictures"
}

# ready SIDE PORT PID: waits until that server answers, and warms it up for 2 s.
ready() {
    echo "$2 $3" >"$work/side.$1"
    answers "$2"
    load "$1" 1 2 >/dev/null
}

port=8091
sides=
for dtype in $dtypes; do
    "$bin/ringtrain" serve --model-dir "$work/model" --listen 127.0.0.1 --port $port \
        --threads "$threads" --data-threads 2 --dtype "$dtype" --access-log false \
        >"$work/served.$dtype" 2>&1 &
    servers="$servers $!"
    sides="$sides ringtrain-$dtype"
    ready "ringtrain-$dtype" $port $!
    port=$((port + 1))
done
"$python" bench/serve_peer.py $port "$work/model.onnx" "$threads" >"$work/served.theirs" 2>&1 &
servers="$servers $!"
sides="$sides onnxruntime"
ready onnxruntime $port $!

median() {
    awk -v c="$2" '{ print $c }' "$work/of.$1" | sort -n |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
medians() { echo "$1 $(median "$1" 1) $(median "$1" 2) $(median "$1" 3) $(median "$1" 4)"; }

echo "$model, $threads threads: p50 ms, p99 ms, pictures/s, processor ms/picture"
for count in $clients; do
    rm -f "$work"/of.*
    round=0
    while [ "$round" -lt "$rounds" ]; do
        for side in $sides; do
            load "$side" "$count" "$seconds" >>"$work/of.$side"
            echo "$count client(s): $side $(tail -n 1 "$work/of.$side")"
        done
        round=$((round + 1))
    done
    for side in $sides; do
        echo "$(medians "$side") $(medians onnxruntime)"
    done | awk -v n="$count" '{
        printf "%d client(s), medians: %s %s %s %s %s; " \
            "ratios: p50 %.2f, p99 %.2f, pictures/s %.2f, processor %.2f\n",
            n, $1, $2, $3, $4, $5, $2 / $7, $3 / $8, $4 / $9, $5 / $10 }'
done
