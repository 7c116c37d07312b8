#!/bin/sh
# Makes the image ringmaster-cuda-base, a base for the build stage with CUDA: Debian 12 with nvcc,
# the CUDA runtime, cuBLASLt, cuDNN and NCCL from NVIDIA's packages on PyPI. It is for machines that
# can reach PyPI, but no registry with NVIDIA's own images.
#
#   sh docker/engine.sh sh docker/cuda_base.sh
#   sh docker/build.sh --build-arg RINGMASTER_CUDA=ON --build-arg BASE=debian:bookworm-slim \
#       --build-arg BUILD_BASE=ringmaster-cuda-base
#
# The packages are those of docker/cuda.lock. They stay in .cache/cuda-wheels, and an image that was
# made from the same packages is not made again.
set -eu

image=ringmaster-cuda-base
top=$(cd "$(dirname "$0")/.." && pwd)
lock=$top/docker/cuda.lock
wheels=$top/.cache/cuda-wheels

fail() {
    echo "cuda_base.sh: $*" >&2
    exit 1
}

[ "$(uname -m)" = x86_64 ] ||
    fail "$(uname -m): Ringmaster is for x86-64 alone, and so are these packages"
sum=$(sha256sum "$lock" "$0" | sha256sum | cut -d ' ' -f 1)
made_of=$(
    docker image inspect --format '{{index .Config.Labels "made-of"}}' "$image" 2>/dev/null
) || made_of=
[ "$made_of" != "$sum" ] || exit 0

sh "$top/docker/packages.sh" install fetch
sh "$top/docker/base.sh"
mkdir -p "$wheels"
# Networks with a proxy may have certificates of their own, see docker/build.sh.
[ -z "${RINGMASTER_CA:-}" ] || export PIP_CERT="$RINGMASTER_CA"
echo "fetching NVIDIA's packages, about 1.1 GB"
download() {
    python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: \
        --find-links "$wheels" --dest "$wheels" --requirement "$lock"
}
# pip retries if a server does not answer, but not if a connection breaks within a file.
download || download || fail "the download failed"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/ringmaster-cuda-base.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/cuda"
# Each package has a tree of its own; merged they are like a toolkit from NVIDIA's installer.
while read -r package _; do
    case $package in '' | '#'*) continue ;; esac
    name=$(echo "${package%%==*}" | tr - _)
    for wheel in "$wheels/$name-${package##*==}"-*.whl; do
        python3 -m zipfile -e "$wheel" "$work/unpacked" || fail "$wheel cannot be unpacked"
    done
done <"$lock"
for tree in "$work"/unpacked/nvidia/*/; do
    cp -al "$tree." "$work/cuda/"
done
rm -rf "$work/unpacked"
# Unpacking loses the files' modes, and packages have no library names without a version.
chmod -R u=rwX,go=rX "$work/cuda"
find "$work/cuda/bin" "$work/cuda/nvvm/bin" -type f -exec chmod 755 {} +
for library in "$work"/cuda/lib/lib*.so.*; do
    plain=${library%%.so.*}.so
    [ -e "$plain" ] || ln -s "$(basename "$library")" "$plain"
done
[ -e "$work/cuda/lib64" ] || ln -s lib "$work/cuda/lib64"

cat >"$work/Dockerfile" <<END
FROM debian:bookworm-slim
COPY cuda /usr/local/cuda
RUN echo /usr/local/cuda/lib >/etc/ld.so.conf.d/cuda.conf && ldconfig
LABEL made-of=$sum
END
docker build --network none --tag "$image" "$work" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; fail "$image cannot be built"; }
echo "made $image"
