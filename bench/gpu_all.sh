#!/bin/sh
# Runs everything that needs a GPU, in under ten minutes and without a network: it first checks that
# the CUDA backend is correct, then measures its speed, and prints a table at the end.
#
#   sh bench/gpu_all.sh [PART...]         default all, in the order of the table below
#
#   OUT       folder of the logs, default build/gpu: summary.txt, the parts' output in log-1.txt,
#             log-2.txt and so on, each up to 8 MiB, and the reports of the measurements
#   DATA      a folder with cifar10-jpg.tar.gz and pictures.tar, default .gpu/data
#   BUDGET    seconds for everything, default 560. Parts that do not fit are not run, and the table
#             says so
#   BEFORE    a second pack, built from an older revision (gpu_pack.sh): part `before` times a
#             training step of both, in turns. Default .gpu-before
#   RINGMASTER_BUILD, PYTHON   see bench/gpu_env.sh
#
# Programs come from .gpu (bench/gpu_pack.sh) if that exists; otherwise they are built here with
# what the machine has. Each part has its own time limit, and one that fails does not stop the
# others. The exit code is 0 if no part that checks correctness failed, and 1 otherwise; without a
# device every part is skipped, and the exit code is 77.
# shellcheck disable=SC2154  # variables of gpu_env.sh
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck disable=SC1091
. bench/gpu_env.sh
out=${OUT:-build/gpu}
data=${DATA:-.gpu/data}
before=${BEFORE:-.gpu-before}
budget=${BUDGET:-560}
started=$(date +%s)
piece=1
piece_max=8388608
part_max=1048576
failures=0
any=0

# Columns: name, kind (a failure of kind `right` fails the run), limit in seconds.
# The parts that decide on the next steps come first.
parts='build right 240
parity right 150
network right 90
step right 90
backward right 60
ceilings speed 40
kernels speed 40
operators speed 120
before speed 120
own speed 90
overlap speed 90
torch speed 150
resnet speed 120
pictures speed 60
ranks right 120
cifar speed 120
sanitizer right 300'

test_binary() {
    ours "$build/tests/$1"
}

# turns NAME VARIABLE: times a training step with VARIABLE off and on, in turns.
turns() {
    for side in off on off on; do
        echo "$1=$side $(ours env "$2=$side" BENCH_PLANS="$PLANS" \
            "$build/bench/bench_gpu_step" step resnet50 f16 conv 256 224 2 | tail -n 1)"
    done | tee "$out/$1.txt"
    ! grep -qv "^$1=[a-z]* step " "$out/$1.txt"
}

run_part() {
    # If nvidia-smi shows a device, programs that find none have failed.
    export RINGMASTER_NEED_GPU=1
    export CEILINGS="$out/ceilings.txt" PLANS="$out/plans.txt"
    case $1 in
    build)
        if [ -e "$build/revision" ]; then # a pack is already built
            ours "$build/bin/ringtrain" version && echo "built from $(cat "$build/revision")"
            return
        fi
        capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
        cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRINGMASTER_CUDA=ON \
            -DRINGMASTER_ENTRYPOINT=AUTO -DRINGMASTER_CUDA_ARCHITECTURES="${capability:-90}" &&
            cmake --build "$build" --parallel "$(nproc)" --target ringtrain weights_compare \
                bench_gpu_step bench_gpu_ceilings bench_gpu_kernels gpu_cuda_parity \
                gpu_cuda_network gpu_cuda_step gpu_cuda_backward &&
            ours "$build/bin/ringtrain" version
        ;;
    parity | step | network) test_binary "gpu_cuda_$1" ;;
    backward) test_binary gpu_cuda_backward && touch "$out/backward.ok" ;;
    # Each has its own plans, as their format may differ between the two.
    before)
        [ -x "$before/bench/bench_gpu_step" ] || {
            echo "skipped: no second pack in $before"
            return 77
        }
        for side in before now before now; do
            programs=$build
            [ $side = now ] || programs=$before
            echo "side=$side $(BENCH_PLANS=$out/plans-$side.txt \
                ours "$programs/bench/bench_gpu_step" step resnet50 f16 conv 256 224 2 | tail -n 1)"
        done | tee "$out/before.txt"
        awk 'match($0, / images_per_second=[0-9.]+/) {
                 speed = substr($0, RSTART + 19, RLENGTH - 19) + 0
                 side = $1 == "side=now"
                 if (speed > best[side]) best[side] = speed
                 count++
             }
             END {
                 if (count < 4) exit 1
                 printf "before %.1f, now %.1f images/s: %+.1f %%\n", best[0], best[1],
                     100 * (best[1] / best[0] - 1)
             }' "$out/before.txt"
        ;;
    # Times a training step with and without our own backward pass, only if that is correct.
    own)
        [ -e "$out/backward.ok" ] || {
            echo 'not timed: part backward has not passed'
            return 77
        }
        turns own BENCH_OWN
        ;;
    # Kernels that start while the one before ends, which pays off with many small kernels.
    overlap) turns overlap BENCH_OVERLAP
        ;;
    ranks | sanitizer) ours sh "tests/gpu/test_$1.sh" ;;
    ceilings)
        ours "$build/bench/bench_gpu_ceilings" | tee "$out/ceilings.new"
        # The other parts use this line.
        grep '^ceilings ' "$out/ceilings.new" >"$out/ceilings.txt"
        ;;
    kernels) ours "$build/bench/bench_gpu_kernels" ;;
    # Nothing is measured twice: the plans are kept, and each level and batch is run once.
    operators)
        RESULTS=$out/operators LEVELS='conv norm' BATCHES=256 TORCH='' sh bench/resnet_cuda.sh
        ;;
    torch) RESULTS=$out/torch LEVELS='' BATCHES='' TORCH='eager graph' TORCH_BATCHES=256 \
        PROFILE_BATCH=0 TORCH_LIMIT=70 sh bench/resnet_cuda.sh ;;
    resnet) RESULTS=$out LEVELS=conv BATCHES='512 64 128' TORCH='' PROFILE_BATCH=0 \
        sh bench/resnet_cuda.sh ;;
    pictures) sh bench/pictures_cuda.sh "$data/pictures.tar" ;;
    cifar) TORCH=0 LIMIT=110 sh bench/cifar_cuda.sh "$data/cifar10-jpg.tar.gz" ;;
    esac
}

# Appends the part's output to the log; the middle of long output is left out.
keep_log() {
    size=$(wc -c <"$out/running.txt")
    log=$out/log-$piece.txt
    if [ -e "$log" ] && [ $(($(wc -c <"$log") + 2 * part_max)) -gt $piece_max ]; then
        piece=$((piece + 1))
        log=$out/log-$piece.txt
    fi
    {
        echo "=== $1: $2"
        if [ "$size" -gt $((2 * part_max)) ]; then
            head -c $part_max "$out/running.txt"
            echo
            echo "... $((size - 2 * part_max)) bytes left out"
            tail -c $part_max "$out/running.txt"
        else
            cat "$out/running.txt"
        fi
    } >>"$log"
}

# Prints the summary that the table shows beside the result, from the part's output.
last_word() {
    case $1 in
    parity | step | network | backward) grep -aE '^ *asserts' "$out/running.txt" |
        awk '{ print $2 " assertions, " $5 " failed" }' ;;
    resnet | torch) grep -a '^| ' "$out/running.txt" | sort -t '|' -k5,5 -rn | grep -v images/s |
        awk -F '|' 'NR == 1 { print $5 "images/s:" $2 "batch" $4 }' ;;
    *) grep -av '^[[:space:]]*$' "$out/running.txt" | tail -n 1 | cut -c 1-110 ;;
    esac
}

table=
row() {
    line=$(printf '%-10s %-14s %5s s  %s' "$1" "$2" "$3" "$4")
    table="$table$line
"
    echo "$line"
}

one() {
    left=$((budget - ($(date +%s) - started)))
    limit=$3
    [ "$limit" -le "$left" ] || limit=$left
    if [ "$limit" -lt 10 ]; then
        row "$1" 'not run' 0 'out of time'
        [ "$2" = speed ] || failures=$((failures + 1))
        return
    fi
    begun=$(date +%s)
    status=0
    timeout -k 5 "$limit" sh bench/gpu_all.sh --part "$1" >"$out/running.txt" 2>&1 || status=$?
    took=$(($(date +%s) - begun))
    word=$(last_word "$1")
    case $status in
    0) result=ok any=1 ;;
    77) result=skipped ;;
    124 | 137) result="over $limit s" ;;
    *) result="failed ($status)" ;;
    esac
    case $status in
    0 | 77) ;;
    *) [ "$2" = speed ] || failures=$((failures + 1)) ;;
    esac
    keep_log "$1" "$result"
    row "$1" "$result" "$took" "$word"
}

if [ "${1:-}" = --part ]; then
    run_part "$2"
    exit
fi
mkdir -p "$out" || exit 70
rm -f "$out"/log-*.txt "$out/running.txt" "$out/summary.txt" "$out"/ceilings.* \
    "$out"/plans*.txt "$out/backward.ok"

wanted=" $* "
for word in "$@"; do
    echo "$parts" | grep -q "^$word " || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64; }
done
if have_gpu; then
    echo "$gpu_name; programs in $build"
else
    budget=0
fi
# This is not a pipe, so that the loop changes variables of this shell.
while read -r name kind limit <&3; do
    case $wanted in
    '  ' | *" $name "*) ;;
    *) [ "$name" = build ] || continue ;;
    esac
    if [ -z "$gpu_name" ]; then
        row "$name" skipped 0 'no device'
        continue
    fi
    one "$name" "$kind" "$limit"
done 3<<END
$parts
END
rm -f "$out/running.txt" "$out/ceilings.new" "$out/backward.ok"
for report in "$out"/torch/* "$out"/operators/*; do
    [ ! -e "$report" ] ||
        mv "$report" "$out/$(basename "$(dirname "$report")")-$(basename "$report")"
done
rmdir "$out/torch" "$out/operators" 2>/dev/null

{
    echo
    echo "${gpu_name:-no device}, $(date -u +%Y-%m-%dT%H:%M:%SZ), $(($(date +%s) - started)) s"
    printf '%s' "$table"
    if [ -z "$gpu_name" ]; then
        echo 'nothing was run: no device'
    elif [ $failures -gt 0 ]; then
        echo "$failures part(s) that check correctness did not pass"
    else
        echo 'all that checks correctness passed'
    fi
} | tee "$out/summary.txt"
[ -n "$gpu_name" ] || exit 77
[ $failures -eq 0 ] && [ $any -eq 1 ]
