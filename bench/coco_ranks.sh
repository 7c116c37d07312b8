#!/bin/sh
# Measures the memory that the index of a COCO set's annotations takes on a host, if each rank has
# its own and if all ranks share one.
#
#   sh bench/coco_ranks.sh
#   PRESET=release  PYTHON=python3 with numpy  RANKS=4
#   IMAGES=120000 (COCO 2017's training set has 118,287)
set -eu
cd "$(dirname "$0")/.."
PRESET=${PRESET:-release}
PYTHON=${PYTHON:-python3}
RANKS=${RANKS:-4}
IMAGES=${IMAGES:-120000}
cmake --preset "$PRESET" >/dev/null
cmake --build "build/$PRESET" --target index_ranks >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
"$PYTHON" bench/coco_synthetic.py annotations "$work/train.json" --images "$IMAGES" \
    --objects $((IMAGES * 43 / 6))
for kind in own host; do
    begin=$(date +%s.%N)
    mpirun --allow-run-as-root --oversubscribe --bind-to none -np "$RANKS" \
        "build/$PRESET/tests/index_ranks" "$kind" "$work/train.json" </dev/null >"$work/$kind"
    awk -v kind="$kind" -v ranks="$RANKS" -v begin="$begin" -v end="$(date +%s.%N)" \
        '{ sum += $(NF - 3); one = $(NF - 6) }
        END { printf "%-4s %d ranks, %s annotations: %.1f MiB of index in all (Pss), " \
              "one is %.1f MiB; %.1f s with mpirun\n",
              kind, ranks, $5, sum / 1024, one / 1024, end - begin }' "$work/$kind"
done
