#!/bin/sh
# Tests the image with the CUDA backend, as far as that goes without a GPU: it is built on Debian 12
# with NVIDIA's packages from PyPI (docker/cuda_base.sh), inspected and started; and the same image
# without cuDNN.
#
# Compiling the kernels takes minutes, and the packages are a gigabyte to download, so it runs only
# with `sh tests/run.sh long` or CASES="..." sh tests/system/test_cuda_image.sh.
# shellcheck disable=SC2034,SC2154  # engine.sh's variables, and the one it reads
set -u
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] ||
    { echo "skipped: takes many minutes: sh tests/run.sh long"; exit 77; }
export CASES="${CASES:-the_image_is_built inspect_says_what_is_there a_described_gpu_has_plans
    training_takes_the_cpu cuda_is_refused_without_a_gpu an_image_without_cudnn}"
own_image=yes
# shellcheck source=/dev/null
. "$(dirname "$0")/engine.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=ringmaster:cuda-test
plain=ringmaster:no-cudnn-test
fail() {
    echo "FAILED: $*"
    [ ! -s "$work/said" ] || tail -n 30 "$work/said"
    failed=1
}

# build IMAGE --build-arg NAME=VALUE: compiles for one GPU architecture, as nothing runs on a GPU.
build() {
    RINGMASTER_IMAGE=$1 sh "$top/docker/build.sh" --build-arg RINGMASTER_CUDA=ON \
        --build-arg BASE=debian:bookworm-slim --build-arg BUILD_BASE=ringmaster-cuda-base \
        --build-arg RINGMASTER_CUDA_ARCHITECTURES=90 "$2" "$3"
}

# in_container IMAGE COMMAND...: leaves its exit code in $code, and its output in $work/said. The
# container has no network and no GPU, whatever the machine has.
in_container() {
    code=0
    docker run --rm --network none --runtime runc --shm-size 256m \
        --volume "$top/trainer/backend/cuda/devices:/devices:ro" "$@" >"$work/said" 2>&1 || code=$?
}
# ends CODE TEXT...: the last container ended with CODE and printed a match of each TEXT.
ends() {
    [ "$code" -eq "$1" ] || fail "ended with $code, not $1"
    shift
    for text in "$@"; do
        grep -qE -e "$text" "$work/said" || fail "nothing says '$text'"
    done
}
small='--data synthetic --synthetic-images 16 --model resnet20 --image-size 32 --batch-size 4 --steps 2'

the_image_is_built() {
    sh "$top/docker/cuda_base.sh" || { fail "no base for the build stage"; return; }
    build "$cuda" --build-arg RINGMASTER_CUDNN=ON || { fail "the image does not build"; return; }
    # The image has all libraries that the trainer is linked with; the driver's is not one of them.
    in_container "$cuda" sh -c 'ls /usr/local/lib && ! command -v nvcc gcc python3'
    ends 0 '^libcudart\.so\.13$' '^libcublasLt\.so\.13$' '^libcudnn\.so\.9$' \
        '^libcudnn_graph\.so\.9$' '^libcudnn_engines_precompiled\.so\.9$' '^libnccl\.so\.2$' \
        '^libnvrtc\.so\.13$' '^libdnnl\.so\.3$'
    grep -q libcuda.so "$work/said" && fail "the driver's library is in the image"
    # NVIDIA's container runtime reads these variables.
    [ "$(docker image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$cuda" |
        grep -cxE 'NVIDIA_VISIBLE_DEVICES=all|NVIDIA_DRIVER_CAPABILITIES=compute,utility')" = 2 ] ||
        fail "the image does not ask for GPUs"
    in_container "$cuda" ringtrain version
    ends 0 '^backend cuda: CUDA 13\.0, cuDNN 9' '^backend cpu: oneDNN 3' 'GPUs: NCCL 2' \
        'MPI: Open MPI'
}

inspect_says_what_is_there() {
    in_container "$cuda" ringtrain inspect --cuda
    ends 72 '^driver +none on this host$' '^runtime +made with CUDA 13\.0, found 13\.0$' \
        '^cuBLASLt +made with 13\.1\.0, found 13\.1\.0$' 'cuDNN 9.*, found .*9' \
        'NCCL 2.*, found .*2' '^code for +sm 90$' \
        'this host cannot train on GPUs: .*no NVIDIA driver.*docker run --gpus all'
}

# cuDNN's libraries are loaded and asked for engines, just as for a real GPU.
a_described_gpu_has_plans() {
    in_container "$cuda" ringtrain inspect plan --device /devices/h100.json --model resnet50 \
        --dtype f16 --batch-size 8
    ends 0 'conv' 'launches: [1-9][0-9]* own kernels'
}

# Without --gpus, `docker run` starts a job that trains on the CPU and succeeds.
training_takes_the_cpu() {
    # shellcheck disable=SC2086  # words
    in_container "$cuda" train $small
    ends 0 ' step=2 ' 'done: the only rank ended with 0'
}

cuda_is_refused_without_a_gpu() {
    # shellcheck disable=SC2086  # words
    in_container "$cuda" sh -c \
        "train $small --backend cuda; code=\$?; cat /opt/ml/output/failure; exit \$code"
    ends 72 'no NVIDIA driver on this host' '^device: .*(exited|ended) with 72'
}

an_image_without_cudnn() {
    sh "$top/docker/cuda_base.sh" || { fail "no base for the build stage"; return; }
    build "$plain" --build-arg RINGMASTER_CUDNN=OFF || { fail "it does not build"; return; }
    in_container "$plain" sh -c 'ls /usr/local/lib'
    ends 0 '^libcublasLt\.so\.13$'
    grep -q cudnn "$work/said" && fail "it has cuDNN's libraries"
    in_container "$plain" ringtrain inspect --cuda
    ends 72 '^no cuDNN +.*without cuDNN: no convolutions' 'no NVIDIA driver'
    # shellcheck disable=SC2086  # words
    in_container "$plain" train $small
    ends 0 ' step=2 '
}

for name in $CASES; do
    before=$failed
    failed=0
    : >"$work/said"
    "$name"
    if [ "$failed" -eq 0 ]; then
        echo "ok $name"
        failed=$before
    else
        echo "FAILED $name"
    fi
done
for made in "$cuda" "$plain"; do
    size=$(docker image inspect --format '{{.Size}}' "$made" 2>/dev/null) &&
        echo "$made: $((size / 1000000)) MB"
    [ -n "${KEEP_IMAGES:-}" ] || docker image rm --no-prune "$made" >/dev/null 2>&1
done
exit "$failed"
