#!/bin/sh
# Measures the training speed of a ResNet on a GPU by batch size and fusion level, beside PyTorch in
# the same run and beside the device's measured ceilings, and makes a table of operators. Prints a
# report and saves it in a file named after the device.
#
#     sh bench/resnet_cuda.sh
#     BATCHES=256 LEVELS=conv TORCH='eager graph' sh bench/resnet_cuda.sh
#
#   MODEL, SIZE      resnet50, 224
#   BATCHES          64 128 256 512
#   LEVELS, DTYPES   fusion levels: none norm conv; types: f16
#   EACH             seconds for each measurement, default 2
#   TORCH            PyTorch's modes: eager graph compile; none: ''
#   TORCH_BATCHES    batch sizes for PyTorch, default BATCHES; compile runs PROFILE_BATCH alone, or
#                    the first of these if that is 0
#   TORCH_LIMIT      seconds for each of PyTorch's modes, default 150
#   PROFILE_BATCH    batch of the table of operators, default 256; 0: none
#   RESULTS          folder of the report, default bench/results
#   CEILINGS         file with a line of bench_gpu_ceilings, which is run if there is none
#   PLANS            file that keeps the chosen cuDNN plans, read and extended; default none
# shellcheck disable=SC2154  # variables of gpu_env.sh
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck disable=SC1091
. bench/gpu_env.sh

MODEL=${MODEL:-resnet50}
SIZE=${SIZE:-224}
BATCHES=${BATCHES-64 128 256 512}
LEVELS=${LEVELS-none norm conv}
DTYPES=${DTYPES:-f16}
EACH=${EACH:-2}
TORCH=${TORCH-eager graph compile}
TORCH_BATCHES=${TORCH_BATCHES:-$BATCHES}
TORCH_LIMIT=${TORCH_LIMIT:-150}
PROFILE_BATCH=${PROFILE_BATCH:-256}
RESULTS=${RESULTS:-bench/results}

step=$build/bench/bench_gpu_step
have_gpu || { echo "skipped: no device"; exit 77; }
[ -x "$step" ] || { echo "resnet_cuda.sh: $step is not built" >&2; exit 1; }
mkdir -p "$RESULTS"
name=$MODEL-$(echo "$gpu_name" | tr -c 'A-Za-z0-9\n' '-')
report=$RESULTS/$name.md
profile=$RESULTS/$name-operators.txt
plans=${PLANS:-}
[ -n "$plans" ] || { plans=$(mktemp) && trap 'rm -f "$plans"' EXIT; }
failed=0

say() {
    echo "$*" | tee -a "$report"
}

# field NAME LINE
field() {
    echo "$2" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

: >"$report"
say "# $MODEL, $SIZE px, on $gpu_name"
say
say "$(date -u +%Y-%m-%d), driver $(
    nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1);" \
    "$(ours "$build/bin/ringtrain" version | sed -n 's/^backend cuda: //p')"
say

ceilings=$(tail -n 1 "${CEILINGS:-/dev/null}" 2>/dev/null)
[ -n "$ceilings" ] ||
    ceilings=$(ours timeout --foreground 60 "$build/bench/bench_gpu_ceilings" | tail -n 1) ||
    ceilings=
say "Ceilings, measured: ${ceilings#ceilings }"
say
copy=$(field copy_gbs "$ceilings")
product=$(field f16_tflops "$ceilings")

say "| who | type | batch | images/s | best round | start-up s | device MiB |"
say "| --- | --- | --- | --- | --- | --- | --- |"
for type in $DTYPES; do
    for level in $LEVELS; do
        for batch in $BATCHES; do
            line=$(BENCH_PLANS=$plans ours timeout --foreground 60 "$step" step "$MODEL" "$type" \
                "$level" "$batch" "$SIZE" "$EACH" 2>&1 | tail -n 1)
            case $line in
            step*) say "| ringtrain --fusion $level | $type | $batch |" \
                "$(field images_per_second "$line") | $(field best "$line") |" \
                "$(field open_seconds "$line") | $(field memory_mib "$line") |" ;;
            *)
                failed=1
                say "| ringtrain --fusion $level | $type | $batch | failed: $line | | | |"
                ;;
            esac
        done
    done
done
for mode in $TORCH; do
    batches=$TORCH_BATCHES
    [ "$mode" = compile ] && [ "$PROFILE_BATCH" != 0 ] && batches=$PROFILE_BATCH
    [ "$mode" = compile ] && [ "$PROFILE_BATCH" = 0 ] && batches=${TORCH_BATCHES%% *}
    # shellcheck disable=SC2086  # a list
    timeout --foreground "$TORCH_LIMIT" "$python" bench/resnet_torch_cuda.py "$MODEL" "$SIZE" \
        "$EACH" "$mode" $batches 2>&1 | tee -a "$report.torch" |
        grep '^torch mode\|^no ' | while IFS= read -r line; do
        case $line in
        *images_per_second=*) say "| PyTorch $mode | f16 autocast | $(field batch "$line") |" \
            "$(field images_per_second "$line") | $(field best "$line") |" \
            "$(field open_seconds "$line") | |" ;;
        *) say "| PyTorch $mode | | | $line | | | |" ;;
        esac
    done
    grep -q "mode=$mode\|^no " "$report.torch" ||
        say "| PyTorch $mode | | | nothing within $TORCH_LIMIT s | | | |"
done
[ ! -e "$report.torch" ] || say "
$(sed -n 's/^torch version/PyTorch, version/p' "$report.torch" | head -n 1)"
rm -f "$report.torch"

if [ "$PROFILE_BATCH" != 0 ] && [ -n "$copy" ]; then
    for level in $LEVELS; do
        echo "== $level"
        BENCH_PLANS=$plans ours timeout --foreground 60 "$step" profile "$MODEL" f16 "$level" \
            "$PROFILE_BATCH" "$SIZE" "$copy" "$product" || failed=1
    done >"$profile" 2>&1
    say
    say "Operators by kind at batch $PROFILE_BATCH, each timed between two events on the queue (all of" \
        "them: $(basename "$profile")):"
    awk '/^== / { print "\n" $0 }
        /^by kind/ { on = 1 }
        on { print "    " $0 }
        /^the whole step/ { on = 0 }' "$profile" | tee -a "$report"
fi
exit $failed
