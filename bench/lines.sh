#!/bin/sh
# Measures what a rank's output costs in a job of one rank: processor seconds per million lines, and
# how many lines and MB per second come out.
# usage: bench/lines.sh [BIN [LINES [ROUNDS [BIN...]]]]
#
# The rank prints a metric line of a trainer, 79 bytes; the output goes to /dev/null. Processor
# seconds are those of all processes of the job; the program that prints takes a few hundredths of
# one. With several BIN the builds alternate, and each has a row.
set -eu
cd "$(dirname "$0")/.."
first=${1:-build/release/bin}
lines=${2:-1000000}
rounds=${3:-5}
if [ $# -lt 3 ]; then set --; else shift 3; fi
. bench/priority.sh
work=$(mktemp -d)
trap 'priority_end; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
line='train step=120 epoch=3.4 loss=0.123456 lr=0.01 images_per_second=1234.5 wait=0.1'

# spent FILE: writes the processor seconds of all child processes that have ended so far to FILE.
# `times` must not run in a subshell, which has children of its own.
spent() {
    times >"$work/times"
    tail -n 1 "$work/times" | awk '{
        for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] }
        print sum }' >"$1"
}

# run NAME BIN: runs a job and adds its processor seconds and seconds as a row to NAME.
run() {
    spent "$work/was"
    began=$(date +%s.%N)
    RINGMASTER_HOSTS=127.0.0.1 SAGEMAKER_BASE_DIR="$work/ml" RINGMASTER_EVENTS=0 \
        $PRIORITY "$2/ringmaster" train -- sh -c 'yes "$0" | head -n "$1"' "$line" "$lines" \
        >/dev/null 2>"$work/log" || {
        cat "$work/log"
        exit 1
    }
    ended=$(date +%s.%N)
    spent "$work/now"
    echo "$(cat "$work/was") $(cat "$work/now") $began $ended" |
        awk '{ print $2 - $1, $4 - $3 }' >>"$work/$1"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    number=0
    for bin in "$first" "$@"; do
        run "build-$number" "$bin"
        number=$((number + 1))
    done
    round=$((round + 1))
done
echo "$lines lines of $((${#line} + 1)) bytes, medians of $rounds"
printf '%-40s %12s %12s %12s %8s\n' build 'CPU s/1e6' 'spread' 'lines/s' 'MB/s'
number=0
for bin in "$first" "$@"; do
    sort -n "$work/build-$number" | awk '{ print $1 }' >"$work/cpu"
    sort -n -k 2 "$work/build-$number" | awk '{ print $2 }' >"$work/wall"
    middle=$(((rounds + 1) / 2))
    echo "$(sed -n "${middle}p" "$work/cpu") $(sed -n 1p "$work/cpu") $(
        sed -n '$p' "$work/cpu") $(sed -n "${middle}p" "$work/wall")" |
        awk -v name="$bin" -v lines="$lines" -v size=$((${#line} + 1)) '{
            printf "%-40s %12.3f %5.2f - %4.2f %12.0f %8.1f\n", name,
                $1 * 1e6 / lines, $2 * 1e6 / lines, $3 * 1e6 / lines,
                lines / $4, lines * size / $4 / 1e6 }'
    number=$((number + 1))
done
