#!/bin/sh
# Copies the CUDA libraries that PROGRAM needs into FOLDER: those that it is linked with, and those
# that they open with dlopen. The container runtime provides the driver's. Copies nothing for a
# program without CUDA.
#
#   sh docker/cuda_libs.sh PROGRAM FOLDER
set -eu

program=$1
folder=$2

# Libraries that are opened, not linked: cuDNN's parts for its graph API (without the one for
# attention and RNNs, the largest of the rest), and the compiler that they and cuBLASLt use.
opened='libcudnn_graph libcudnn_ops libcudnn_cnn libcudnn_heuristic libcudnn_engines_precompiled
    libcudnn_engines_runtime_compiled libnvrtc libnvrtc-builtins'

linked=$(ldd "$program" |
    sed -n 's/^[[:space:]]*lib\(cudart\|cublasLt\|cudnn\|nccl\)\.so[^ ]* => \(\/[^ ]*\) .*/\2/p')
[ -n "$linked" ] || exit 0
mkdir -p "$folder"
for library in $linked; do
    cp -L "$library" "$folder/"
done
case $linked in
*libcudnn*) ;;
*) opened='libnvrtc libnvrtc-builtins' ;;
esac
for name in $opened; do
    found=
    for library in $linked; do
        for candidate in "$(dirname "$library")/$name".so.*; do
            [ -e "$candidate" ] || continue
            # The name that programs open: libcudnn_graph.so.9, libnvrtc-builtins.so.13.0.
            asked=$(objdump -p "$candidate" 2>/dev/null | sed -n 's/^ *SONAME *//p')
            [ -n "$asked" ] || continue
            [ -e "$folder/$asked" ] || cp -L "$candidate" "$folder/$asked"
            found=yes
        done
    done
    [ -n "$found" ] || {
        echo "cuda_libs.sh: no $name beside the libraries of $program" >&2
        exit 1
    }
done
