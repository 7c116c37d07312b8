#!/bin/sh
# Measures serving: `ringtrain serve` against onnxruntime in a Python server, with the same network, pictures, cores and
# clients, in turns. Prints p50, p99, pictures a second and processor time a picture of each round, and the
# ratios of the medians.
#
#   sh bench/serve.sh [BIN]
#
#   MODEL=resnet50 CLIENTS=16 ROUNDS=3 SECONDS_EACH=10 THREADS=2
#   PICTURES    a folder of JPEGs; shapes of 224 px where absent
#   PYTHON      has onnx, onnxruntime and Pillow; build/onnx where absent (tests/venv.sh)
set -eu
cd "$(dirname "$0")/.."
bin=${1:-build/release/bin}
model=${MODEL:-resnet50}
clients=${CLIENTS:-16}
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

"$bin/ringtrain" prepare shapes "$work/shapes" --train 64 --validation 16 --classes 4 --side 224 >/dev/null
"$bin/ringtrain" train --model "$model" --data "$work/shapes" --validation none --steps 2 --batch-size 4 \
    --checkpoint-dir "$work/c" --model-dir "$work/model" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$bin/ringtrain" export --model-dir "$work/model" --onnx "$work/model.onnx" --input u8 >/dev/null
find "${PICTURES:-$work/shapes/val}" -name '*.jp*g' | sort | head -n 64 >"$work/pictures"

# answers PORT: waits for a server.
answers() {
    tries=0
    until "$python" -c 'import sys, urllib.request; urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/ping", timeout=5)' "$1" \
        2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 120 ] || { cat "$work"/served.*; echo "no server"; exit 1; }
        sleep 0.5
    done
}

ours=8091
theirs=8092
"$bin/ringtrain" serve --model-dir "$work/model" --listen 127.0.0.1 --port $ours --threads "$threads" --data-threads 2 \
    --access-log false >"$work/served.ours" 2>&1 &
ours_is=$!
servers="$servers $!"
"$python" bench/serve_peer.py $theirs "$work/model.onnx" "$threads" >"$work/served.theirs" 2>&1 &
theirs_is=$!
servers="$servers $!"
answers $ours
answers $theirs

# load PORT PID CLIENTS SECONDS
load() {
    xargs "$python" bench/serve_load.py "$1" "$2" "$3" "$4" <"$work/pictures"
}
load $ours "$ours_is" 1 2 >/dev/null
load $theirs "$theirs_is" 1 2 >/dev/null
echo "$model, $threads threads, $clients clients: p50 ms, p99 ms, pictures/s, processor ms/picture"
for count in 1 "$clients"; do
    : >"$work/ours"
    : >"$work/theirs"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        load $ours "$ours_is" "$count" "$seconds" >>"$work/ours"
        load $theirs "$theirs_is" "$count" "$seconds" >>"$work/theirs"
        echo "$count client(s): ringtrain $(tail -n 1 "$work/ours"), onnxruntime $(tail -n 1 "$work/theirs")"
        round=$((round + 1))
    done
    median() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
    awk -v n="$count" -v a="$(median "$work/ours" 3)" -v b="$(median "$work/theirs" 3)" \
        -v p="$(median "$work/ours" 1)" -v q="$(median "$work/theirs" 1)" \
        -v r="$(median "$work/ours" 2)" -v s="$(median "$work/theirs" 2)" \
        -v u="$(median "$work/ours" 4)" -v v="$(median "$work/theirs" 4)" \
        'BEGIN { printf "%d client(s), ratios: pictures/s %.2f, p50 %.2f, p99 %.2f, processor %.2f\n", n, a / b, p / q, r / s, u / v }'
done
