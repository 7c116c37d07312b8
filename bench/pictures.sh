#!/bin/sh
# Measures how many pictures per second a core decodes, crops at random and resamples to 224 px:
# original JPEGs, JPEGs that `ringtrain prepare` has scaled to a short side of 256, and raw
# pictures, beside torchvision.io and Pillow on the same files (Pillow alone on raw ones, which
# torchvision.io cannot read). Then measures the loader on shards beside the folder that they were
# made from, with --order lanes and with --cache ram. All run in turns, so that other load affects
# all alike: the ratios of the medians are what counts.
#
#     RINGMASTER_DATA=DIR sh bench/pictures.sh
#     PYTHON=VENV/bin/python ROUNDS=3     a Python with torchvision and Pillow; without them only
#                                         ours is measured
set -eu
cd "$(dirname "$0")/.."
PRESET=${PRESET:-release}
ROUNDS=${ROUNDS:-3}
PYTHON=${PYTHON:-python3}
sample=${RINGMASTER_DATA:?names the folder with imagenet-sample}/imagenet-sample
program=build/$PRESET/bench/bench_decode
ringtrain=build/$PRESET/bin/ringtrain
. bench/priority.sh
work=$(mktemp -d)
trap 'priority_end; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

"$ringtrain" prepare folder "$sample" "$work/prepared" --resize 256 --format folder >/dev/null 2>&1
"$ringtrain" prepare folder "$sample" "$work/raw" --resize 256 --raw true --format folder \
    >/dev/null 2>&1
"$ringtrain" prepare folder "$sample" "$work/shards" --format tar --shards 4 >/dev/null 2>&1

# turn NAME COMMAND...: adds one measurement to NAME.
turn() {
    name=$1
    shift
    $PRIORITY "$@" >>"$work/$name.figures"
}
peers=
if "$PYTHON" -c 'import torchvision, PIL' 2>/dev/null; then
    peers="torchvision pillow"
fi

round=0
while [ "$round" -lt "$ROUNDS" ]; do
    turn original "$program" --crops "$sample"
    for peer in $peers; do
        turn "$peer" "$PYTHON" bench/pictures_peers.py "$peer" "$sample"
        turn "$peer-prepared" "$PYTHON" bench/pictures_peers.py "$peer" "$work/prepared"
    done
    [ -z "$peers" ] || turn pillow-raw "$PYTHON" bench/pictures_peers.py pillow "$work/raw"
    turn prepared "$program" --crops "$work/prepared"
    turn raw "$program" --crops "$work/raw"
    turn folder "$program" --loader "$sample" 1
    turn shards "$program" --loader "$work/shards" 1
    turn lanes "$program" --loader "$work/shards" 1 lanes
    turn ram "$program" --loader "$sample" 1 ram
    round=$((round + 1))
done
median() { sort -n "$work/$1.figures" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# row NAME OF: prints the median of NAME and its ratio to that of OF.
row() {
    sort -n "$work/$1.figures" | awk -v name="$1" -v median="$(median "$1")" -v of="$2" \
        -v other="$(median "$2")" '
        NR == 1 { least = $1 } { most = $1 }
        END { printf "%-20s %8.0f images/s (%.0f to %.0f), %.2f of %s\n",
                  name, median, least, most, median / other, of }'
}
for name in original $peers prepared raw; do
    for peer in ${peers:-original}; do
        row "$name" "$peer"
    done
done
for peer in $peers; do
    row "$peer-prepared" "$peer"
    row prepared "$peer-prepared"
done
if [ -n "$peers" ]; then
    row pillow-raw pillow
    row raw pillow-raw
fi
row shards folder
row lanes shards
row ram folder
