#!/bin/sh
# Tests `ringtrain serve`: its answers are those of predict, malformed and slow requests do not
# affect others, many clients are answered in bounded memory, and a stop loses no answer that was
# begun.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
python=${RINGMASTER_PYTHON:-python3}
command -v "$python" >/dev/null || skip "no $python"
"$ringtrain" version | grep -q '^serving: libmicrohttpd' || skip "this build cannot serve"
client=$(dirname "$0")/serve_client.py
# Many clients ask for ten seconds, or for two minutes in the long tests.
seconds=${RINGMASTER_SERVE_SECONDS:-$([ -n "${RINGMASTER_LONG:-}" ] && echo 120 || echo 10)}
make_data 64 20
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" train $common --data "$data" --steps 8 --checkpoint-dir "$work/c" \
    --model-dir "$work/model"
pictures=$data/val
one=$(find "$pictures" -type f | sort | head -n 1)
server=

# begin FLAGS...: starts a server of the model and waits until it answers.
begin() {
    "$ringtrain" serve --model-dir "$work/model" --listen "$host" --threads 1 --data-threads 2 \
        "$@" >"$work/served" 2>"$work/log" &
    server=$!
    asks wait
}

asks() {
    "$python" "$client" "$host:$port" "$@" || { cat "$work/log"; fail "$*"; }
    checks=$((checks + 1))
}

# ended CODE: the server, which was asked to stop, ends with exit code CODE.
ended() {
    status=0
    wait "$server" || status=$?
    server=
    [ "$status" = "$1" ] || { cat "$work/log"; fail "the server left with $status, not $1"; }
    checks=$((checks + 1))
}

trap stop_server EXIT

echo "answers are those of predict"
code 0 "$ringtrain" predict --model-dir "$work/model" --out "$work/p" --threads 1 --batch-size 1 \
    "$pictures"
SAGEMAKER_BIND_TO_PORT=$port begin --max-batch 1
asks equal "$work/p/predictions.json" 0
kill -TERM "$server"
ended 0
grep -q "serving resnet20 from $work/model on $host port $port" "$work/log" ||
    fail "no word of the port"
grep -q 'POST /invocations 200, [0-9]* bytes, 7 pictures, ' "$work/log" ||
    fail "no line of a request"
begin --port "$port"
asks equal "$work/p/predictions.json" 1e-5
kill -TERM "$server"
ended 0

echo "the same in bf16, whose probabilities are near those of f32"
code 0 "$ringtrain" predict --model-dir "$work/model" --out "$work/p16" --threads 1 --batch-size 1 \
    --dtype bf16 "$pictures"
! cmp -s "$work/p/predictions.json" "$work/p16/predictions.json" ||
    fail "bf16 has the digits of f32"
begin --port "$port" --max-batch 1 --dtype bf16
asks equal "$work/p16/predictions.json" 0
asks close "$work/p/predictions.json" 0.05
kill -TERM "$server"
ended 0

echo "malformed requests"
begin --port "$port" --max-body 2 --access-log false --stop-seconds 120
asks wrong "$one"
! grep -q invocations "$work/log" || fail "requests are logged"

echo "many clients, then a stop in the middle"
asks load "$server" "$seconds" 64 "$one"
asks stop "$server" 64 "$one"
ended 0
grep -q stopped "$work/log" || fail "no word of the stop"

echo "slow clients, a full queue"
begin --port "$port" --idle-seconds 2 --receive-seconds 2 --queue 1 --connections 16
asks slow 2
kill -TERM "$server"
ended 0

echo "under the name that a hosting service calls"
# It listens on all addresses, so its port must be none of other tests'.
port=$((port - 12000))
SAGEMAKER_BIND_TO_PORT=$port "$bin/serve" --model-dir "$work/model" --threads 1 2>"$work/log" &
server=$!
asks wait
kill -TERM "$server"
ended 0

echo "what cannot be served"
code 66 "$ringtrain" serve --model-dir "$work/nothing"
says "nothing"
begin --port "$port"
code 65 "$ringtrain" serve --model-dir "$work/model" --listen "$host" --port "$port" --threads 1
says "port $port of $host: cannot listen"
code 64 "$ringtrain" serve --model-dir "$work/model" --listen nowhere --threads 1
says "--listen: 'nowhere' is not an IP address"
SAGEMAKER_BIND_TO_PORT=x code 65 "$ringtrain" serve --model-dir "$work/model"
says "SAGEMAKER_BIND_TO_PORT='x'"
kill -TERM "$server"
ended 0
