#!/bin/sh
# Measures the training speed of a ResNet on CPU cores, beside PyTorch: both programs are started
# once and run a few steps in turns, so that other load affects both alike. Prints images/s of each
# turn's best step, then best and median of all steps and their ratios.
#
#     sh bench/resnet_cpu.sh                  ResNet-50, 224 px, batch 16, bf16 and f32
#     MODEL=resnet18 BATCH=32 DTYPES=bf16 ROUNDS=10 sh bench/resnet_cpu.sh
#     PROFILE=1 sh bench/resnet_cpu.sh        also milliseconds by kind of operator, of both
#     ISA=avx2 DTYPES=f32 sh bench/resnet_cpu.sh   both sides limited to AVX2
#
# PYTHON names a Python that has torch and torchvision (python3 -m pip install torch torchvision);
# without one, our side is measured alone.
set -u
cd "$(dirname "$0")/.." || exit 2

MODEL=${MODEL:-resnet50}
BATCH=${BATCH:-16}
SIZE=${SIZE:-224}
THREADS=${THREADS:-$(nproc)}
DTYPES=${DTYPES:-bf16 f32}
ROUNDS=${ROUNDS:-6}
STEPS=${STEPS:-3}
PRESET=${PRESET:-release}
PYTHON=${PYTHON:-python3}
STEP=build/$PRESET/bench/bench_resnet_step
case ${ISA:-} in
'') ;;
avx2) export ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 ;;
*) echo "resnet_cpu.sh: ISA=$ISA: avx2, or nothing" >&2 && exit 2 ;;
esac

fail() {
    echo "resnet_cpu.sh: $1" >&2
    exit 1
}

if [ ! -x "$STEP" ]; then
    { cmake --preset "$PRESET" && cmake --build "build/$PRESET" --target bench_resnet_step -j2; } \
        >/dev/null || fail "the build failed"
    [ -x "$STEP" ] ||
        fail "no backend cpu in this build: oneDNN is missing (docker/fetch_onednn.sh)"
fi
has_torch=yes
"$PYTHON" -c 'import torch, torchvision' 2>/dev/null || has_torch=no

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# turn IN OUT FILE: makes the program on descriptors IN and OUT run STEPS steps, adds their seconds
# to FILE and prints images/s of the best.
turn() {
    eval "echo $STEPS >&$1"
    eval "IFS= read -r line <&$2" || fail "a measured program ended early"
    echo "$line" | tr ' ' '\n' >>"$3"
    echo "$line" | tr ' ' '\n' | awk -v n="$BATCH" '
        best == 0 || $1 < best { best = $1 } END { printf "%.1f", n / best }'
}

# summary FILE: prints best and median images/s of the seconds in FILE.
summary() {
    sort -n "$1" | awk -v n="$BATCH" '
        { t[NR] = $1 }
        END { m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2
              printf "%.2f %.2f", n / t[1], n / m }'
}

ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
}

# table IN OUT: prints the profile of the program on descriptors IN and OUT.
table() {
    echo profile >&"$1"
    while IFS= read -r line <&"$2"; do
        echo "  $line"
        case $line in sum*) break ;; esac
    done
}

measure() {
    dtype=$1
    mkfifo "$dir/in.$dtype" "$dir/out.$dtype" "$dir/in2.$dtype" "$dir/out2.$dtype"
    "$STEP" "$MODEL" "$dtype" "$BATCH" "$SIZE" "$THREADS" \
        <"$dir/in.$dtype" >"$dir/out.$dtype" &
    exec 3>"$dir/in.$dtype" 4<"$dir/out.$dtype"
    turn 3 4 "$dir/warm" >/dev/null
    if [ $has_torch = yes ]; then
        "$PYTHON" bench/resnet_torch.py "$MODEL" "$dtype" "$BATCH" "$SIZE" "$THREADS" \
            <"$dir/in2.$dtype" >"$dir/out2.$dtype" 3>&- 4<&- &
        exec 5>"$dir/in2.$dtype" 6<"$dir/out2.$dtype"
        turn 5 6 "$dir/warm" >/dev/null
    fi
    echo \
        "$MODEL $dtype, $SIZE px, batch $BATCH, $THREADS threads: images/s of each turn's best step"
    round=0
    while [ $round -lt "$ROUNDS" ]; do
        round=$((round + 1))
        ours=$(turn 3 4 "$dir/ours.$dtype") || exit 1
        if [ $has_torch = yes ]; then
            theirs=$(turn 5 6 "$dir/theirs.$dtype") || exit 1
            echo "  ringmaster $ours  pytorch $theirs  ratio $(ratio "$ours" "$theirs")"
        else
            echo "  ringmaster $ours"
        fi
    done
    # shellcheck disable=SC2046
    set -- $(summary "$dir/ours.$dtype")
    echo "  ringmaster best $1 median $2"
    if [ $has_torch = yes ]; then
        best=$1 median=$2
        # shellcheck disable=SC2046
        set -- $(summary "$dir/theirs.$dtype")
        echo "  pytorch    best $1 median $2"
        echo "  ratio      best $(ratio "$best" "$1") median $(ratio "$median" "$2")"
    fi
    if [ -n "${PROFILE:-}" ]; then
        echo "  ringmaster, by kind of operator"
        table 3 4
        [ $has_torch = no ] || echo "  pytorch, by kind of operator"
        [ $has_torch = no ] || table 5 6
    fi
    [ $has_torch = no ] || exec 5>&- 6<&-
    exec 3>&- 4<&-
    wait
}

if [ $has_torch = yes ]; then
    "$PYTHON" -c 'import torch; print("PyTorch", torch.__version__)'
else
    echo "no torch and torchvision in $PYTHON (PYTHON=... names another): our side alone"
fi
for type in $DTYPES; do
    measure "$type"
done
