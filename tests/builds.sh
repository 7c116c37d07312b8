#!/bin/sh
# Tests builds without each of the optional parts: configures, builds ringtrain, compares what
# `ringtrain version` prints with what was requested, and trains two steps on a backend that is
# left. It needs all parts on this machine; without a CUDA toolkit those rows are skipped.
#
#   sh tests/builds.sh [NAME...]      default: all rows below
#
# All rows use one build folder, so what they share is compiled once. The last line counts the rows.
set -u
cd "$(dirname "$0")/.." || exit 70
. tests/building.sh
build=build/parts
work=$(mktemp -d "${TMPDIR:-/tmp}/ringmaster-builds.XXXXXX") || exit 70
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

fail() {
    echo "FAILED $name: $*"
    failed=$((failed + 1))
}

# row NAME BACKEND OPTIONS... -- LINE...: the output of `version` must match each expression LINE.
row() {
    name=$1
    backend=$2
    shift 2
    [ -z "$only" ] || case " $only " in *" $name "*) ;; *) return ;; esac
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086  # words
    cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRINGMASTER_TESTS=OFF \
        -DRINGMASTER_CUDA_ARCHITECTURES=90 $options >"$work/log" 2>&1 &&
        cmake --build "$build" --parallel "$(nproc)" --target ringtrain >>"$work/log" 2>&1 ||
        { tail -n 20 "$work/log"; fail "does not build"; return; }
    "$build/bin/ringtrain" version >"$work/version" || { fail "version"; return; }
    for line in "$@"; do
        grep -qE "$line" "$work/version" ||
            { cat "$work/version"; fail "version has no '$line'"; return; }
    done
    rm -rf "$work/run"
    mkdir "$work/run"
    "$build/bin/ringtrain" train --data synthetic --synthetic-images 16 --model resnet20 --steps 2 \
        --batch-size 4 --image-size 32 --backend "$backend" --model-dir "$work/run/model" \
        --checkpoint-dir "$work/run/checkpoints" --tensorboard-dir "$work/run/events" \
        >"$work/log" 2>&1 || { tail -n 5 "$work/log"; fail "does not train"; return; }
    grep -q ' step=2 ' "$work/log" || { cat "$work/log"; fail "no second step"; return; }
    draws || return
    passed=$((passed + 1))
    echo "ok $name"
}

# Every build draws a label with an umlaut; those without FreeType report how they spell it.
draws() {
    [ -d "$work/set" ] ||
        "$build/bin/ringtrain" prepare shapes --coco "$work/set" --train 2 --validation 1 \
            >"$work/log" 2>&1 || { tail -n 5 "$work/log"; fail "no pictures"; return 1; }
    sed 's/"name": *"circle"/"name":"K\\u00e4se"/' "$work/set/annotations/instances_train.json" \
        >"$work/kaese.json"
    rm -rf "$work/drawn"
    "$build/bin/ringtrain" draw --coco "$work/kaese.json" --pictures "$work/set/train" \
        --out "$work/drawn" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log"; fail "does not draw"; return 1; }
    spelled=$(grep -c "is written as 'Kase'" "$work/log")
    grep -q 'pictures: ASCII only' "$work/version" && [ "$spelled" = 1 ] && return
    grep -q 'pictures: FreeType' "$work/version" && [ "$spelled" = 0 ] && return
    cat "$work/log"
    fail "a label with an umlaut is reported as badly spelled $spelled times"
    return 1
}

all_off="-DRINGMASTER_ONEDNN=OFF -DRINGMASTER_MPI=OFF -DRINGMASTER_CUDA=OFF
-DRINGMASTER_FREETYPE=OFF -DRINGMASTER_SERVE=OFF"

# fetches NAME ON|OFF CODE SOURCE TEXT: builds with or without sources; a job of one host with a
# channel from SOURCE ends with exit code CODE and logs TEXT.
fetches() {
    name=$1
    [ -z "$only" ] || case " $only " in *" $name "*) ;; *) return ;; esac
    rm -rf "$build/bin/ringmaster-transfer" "$work/opt"
    mkdir "$work/opt"
    # shellcheck disable=SC2086  # words
    cmake -S . -B "$build" -DRINGMASTER_TESTS=OFF $all_off -DRINGMASTER_SOURCES="$2" \
        >"$work/log" 2>&1 &&
        cmake --build "$build" --parallel "$(nproc)" >>"$work/log" 2>&1 ||
        { tail -n 20 "$work/log"; fail "does not build"; return; }
    env -i PATH="$PATH" SAGEMAKER_BASE_DIR="$work/opt" RINGMASTER_CHANNEL_TRAIN="$4" \
        "$build/bin/ringmaster" train -- true >"$work/log" 2>&1
    code=$?
    [ "$code" = "$3" ] && grep -qF "$5" "$work/log" ||
        { cat "$work/log"; fail "ends with $code, or does not say '$5'"; return; }
    passed=$((passed + 1))
    echo "ok $name"
}

no_cuda='backend cuda: not in this build'
only=$*

# shellcheck disable=SC2086  # words
row nothing ref $all_off -- 'backend cpu: not in this build' "$no_cuda" \
    'MPI: not in this build' 'no NCCL in this build' 'labels in pictures: ASCII only' \
    'serving: not in this build'
# shellcheck disable=SC2086  # words
row serve ref $all_off -DRINGMASTER_SERVE=ON -- 'backend cpu: not in this build' \
    'serving: libmicrohttpd '
# shellcheck disable=SC2086  # words
row freetype ref $all_off -DRINGMASTER_FREETYPE=ON -- 'backend cpu: not in this build' \
    'labels in pictures: FreeType 2'
fetches no-sources OFF 65 file:///etc 'was built without libcurl, libarchive or Expat'
fetches sources ON 0 file:///etc 'downloading 1 channels'
row onednn cpu -DRINGMASTER_ONEDNN=ON -DRINGMASTER_MPI=OFF -DRINGMASTER_CUDA=OFF -- \
    'backend cpu: oneDNN 3' "$no_cuda" 'MPI: not in this build'
row mpi ref -DRINGMASTER_ONEDNN=OFF -DRINGMASTER_MPI=ON -DRINGMASTER_CUDA=OFF -- \
    'backend cpu: not in this build' 'MPI: Open MPI'
if [ -x "$nvcc" ]; then
    row cuda ref -DRINGMASTER_ONEDNN=OFF -DRINGMASTER_MPI=OFF -DRINGMASTER_CUDA=ON \
        -DRINGMASTER_CUDNN=ON -DRINGMASTER_NCCL=ON -- \
        'backend cuda: CUDA [0-9.]*, cuDNN 9' 'GPUs: NCCL 2'
    row no-cudnn ref -DRINGMASTER_ONEDNN=OFF -DRINGMASTER_MPI=OFF -DRINGMASTER_CUDA=ON \
        -DRINGMASTER_CUDNN=OFF -DRINGMASTER_NCCL=ON -- \
        'backend cuda: CUDA [0-9.]*, without cuDNN: no convolutions' 'GPUs: NCCL 2'
    row no-nccl ref -DRINGMASTER_ONEDNN=OFF -DRINGMASTER_MPI=OFF -DRINGMASTER_CUDA=ON \
        -DRINGMASTER_CUDNN=ON -DRINGMASTER_NCCL=OFF -- \
        'backend cuda: CUDA [0-9.]*, cuDNN 9' 'no NCCL in this build'
    row everything cpu -DRINGMASTER_ONEDNN=ON -DRINGMASTER_MPI=ON -DRINGMASTER_CUDA=ON \
        -DRINGMASTER_CUDNN=ON -DRINGMASTER_NCCL=ON -DRINGMASTER_FREETYPE=ON -- \
        'backend cpu: oneDNN 3' 'backend cuda: CUDA [0-9.]*, cuDNN 9' 'GPUs: NCCL 2' \
        'MPI: Open MPI' 'labels in pictures: FreeType 2'
else
    echo "skipped: no CUDA toolkit here"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
