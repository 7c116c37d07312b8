#!/bin/sh
# Trains a ResNet-50 on a GPU with real JPEGs, which all cores decode. Measures images/s decoded,
# cropped and trained on, and the share of the time that the steps waited for pictures.
#
#   sh bench/pictures_cuda.sh DATA
#
#   DATA    a folder of class folders of JPEGs, or a .tar of one. A few JPEGs are enough: each is
#           read under several names, so that an epoch is long
#   BATCH   default 256;  STEPS default 60;  THREADS that decode, default all cores
# shellcheck disable=SC2154  # variables of gpu_env.sh
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck disable=SC1091
. bench/gpu_env.sh
data=${1:-}
[ -e "$data" ] || { echo "skipped: no data: pictures_cuda.sh DATA"; exit 77; }
have_gpu || { echo "skipped: no device"; exit 77; }
batch=${BATCH:-256}
steps=${STEPS:-60}
threads=${THREADS:-$(nproc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/once" "$work/set"
if [ -d "$data" ]; then
    cp -r "$data/." "$work/once/" || exit 66
else
    tar -xf "$data" -C "$work/once" || exit 66
fi
count=$(find "$work/once" -type f | wc -l)
[ "$count" -gt 0 ] || { echo "no pictures in $data" >&2; exit 66; }
# Makes hard links with new names, in two classes, until one epoch is enough for all steps.
copies=$(((batch * steps + count - 1) / count))
mkdir -p "$work/set/a" "$work/set/b"
"$python" - "$work/once" "$work/set" "$copies" <<'END' || exit 66
import os, sys
once, made, copies = sys.argv[1], sys.argv[2], int(sys.argv[3])
number = 0
for folder, _, names in sorted(os.walk(once)):
    for name in sorted(names):
        number += 1
        for copy in range(copies):
            os.link(os.path.join(folder, name),
                    f"{made}/{'ab'[number % 2]}/{number:06d}-{copy:04d}.jpg")
END

run() {
    ours timeout --foreground 100 "$build/bin/ringtrain" train --backend cuda --validation none \
        --model resnet50 --dtype f16 --fusion conv --batch-size "$batch" --steps "$steps" \
        --lr 0.01 --report-every 10 \
        --log metrics --data-threads "$threads" --resume none --model-dir "$work/model" \
        --checkpoint-dir "$work/checkpoints" "$@" >"$work/out" 2>"$work/err" ||
        { echo "ringtrain failed:"; tail -n 5 "$work/err"; exit 1; }
    # The first rows include the start-up.
    grep '^train ' "$work/out" | tail -n "$((steps / 10 - 2))" | awk -v what="$name" '
        { for (i = 2; i <= NF; i++) { split($i, part, "="); sum[part[1]] += part[2] } }
        END { printf "pictures %s images_per_second=%.1f data_wait=%.3f\n", what,
                     sum["images_per_second"] / NR, sum["data_wait"] / NR }'
}

echo "$count pictures of $(
    du -sk "$work/once" | awk -v n="$count" '{ printf "%.0f", $1 / n }') KiB, $threads threads"
name=jpeg run --data "$work/set"
