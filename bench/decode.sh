#!/bin/sh
# Measures images per second of the input pipeline on this machine: decoding alone, with resampling,
# and through the loader, for original JPEGs and for shards that `ringtrain prepare` has scaled or
# decoded.
#
#   sh bench/decode.sh
#   PRESET=release  THREADS=all cores  RINGMASTER_DATA=folder with imagenet-sample.tar.gz or an
#   unpacked imagenet-sample (optional: without it, generated pictures alone)
set -eu
cd "$(dirname "$0")/.."
PRESET=${PRESET:-release}
THREADS=${THREADS:-$(nproc)}
program=build/$PRESET/bench/bench_decode
cmake --preset "$PRESET" >/dev/null
cmake --build "build/$PRESET" --target bench_decode ringtrain >/dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
"$program" --make "$work/shapes"
echo "generated, 500 x 500 pixels:"
"$program" "$work/shapes/train" "$THREADS"

if [ -z "${RINGMASTER_DATA:-}" ]; then
    echo "skipped: ImageNet's sample (RINGMASTER_DATA is not set)"
    exit 0
fi
sample=$RINGMASTER_DATA/imagenet-sample
if [ ! -d "$sample" ] && [ -e "$sample.tar.gz" ]; then
    tar xzf "$sample.tar.gz" -C "$work"
    sample=$work/imagenet-sample
fi
echo "ImageNet, original sizes:"
"$program" "$sample" "$THREADS"
for raw in false true; do
    "build/$PRESET/bin/ringtrain" prepare folder "$sample" "$work/raw-$raw" --resize 256 \
        --raw "$raw" >/dev/null 2>&1
    echo "ImageNet, short side 256, raw $raw:"
    "$program" "$work/raw-$raw" "$THREADS"
done
