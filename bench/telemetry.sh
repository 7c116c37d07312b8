#!/bin/sh
# Measures what telemetry costs in training: processor seconds of the same steps, in turns.
# usage: bench/telemetry.sh [BIN [ROUNDS [STEPS]]]
#
# "plain" reports the first and last steps alone, "reports" each step, "timeline" records all spans,
# "all" does both and writes TensorBoard events. The ratio is that of the medians; the spread of the
# plain runs is its uncertainty.
set -eu
cd "$(dirname "$0")/.."
bin=${1:-build/release/bin}
rounds=${2:-5}
steps=${3:-100}
. bench/priority.sh
work=$(mktemp -d)
trap 'priority_end; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
"$bin/ringtrain" prepare shapes "$work/data" --train 400 --validation 40 >/dev/null

# spent FILE: writes the processor seconds of all child processes that have ended so far to FILE.
# `times` must not run in a subshell, which has children of its own.
spent() {
    times >"$work/times"
    tail -n 1 "$work/times" | awk '{
        for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] }
        print sum }' >"$1"
}

# run NAME FLAGS...: trains once and adds the processor seconds to NAME.
run() {
    name=$1
    shift
    rm -rf "$work/run"
    spent "$work/was"
    $PRIORITY "$bin/ringtrain" train --data "$work/data" --validation none --model resnet20 \
        --batch-size 8 --threads 1 --data-threads 1 --steps "$steps" --log metrics \
        --log-dir "$work/run/log" --model-dir "$work/run/model" --checkpoint-dir "$work/run/c" \
        --checkpoint-every 0 "$@" >"$work/out" 2>&1 || {
        cat "$work/out"
        exit 1
    }
    spent "$work/now"
    paste "$work/was" "$work/now" | awk '{ printf "%.2f\n", $2 - $1 }' >>"$work/$name"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    run plain --report-every 1000000
    run reports --report-every 1
    run timeline --report-every 1000000 --timeline "$work/t.json"
    run all --report-every 1 --timeline "$work/t.json" --tensorboard-dir "$work/run/events"
    round=$((round + 1))
done
median() { sort -n "$work/$1" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }
plain=$(median plain)
for name in plain reports timeline all; do
    sort -n "$work/$name" | awk -v name="$name" -v median="$(median "$name")" -v plain="$plain" '
        NR == 1 { least = $1 } { most = $1 }
        END { printf "%-9s median %.2f CPU s (%.2f to %.2f), ratio %.4f\n",
                  name, median, least, most, median / plain }'
done
