# Finds our programs and NVIDIA's libraries for the scripts that need a GPU; source it from the root
# of the tree. Sets $build, an absolute path, and defines `ours COMMAND...`, which runs a command
# with the libraries.
#
#   RINGMASTER_BUILD   a folder with bin/, tests/ and bench/: default .gpu (bench/gpu_pack.sh) if it
#                      exists, else build/cuda
#   PYTHON             a Python that may have packages with cuDNN and NCCL; default python3
# shellcheck shell=sh

build=${RINGMASTER_BUILD:-}
if [ -z "$build" ]; then
    build=build/cuda
    [ -x .gpu/bin/ringtrain ] && build=.gpu
fi
case $build in
/*) ;;
*) build=$PWD/$build ;;
esac
python=${PYTHON:-python3}

# Prints the folders of NVIDIA's libraries in Python's packages, as PyTorch installs them. They come
# before the toolkit's, as they match each other.
nvidia_libraries() {
    "$python" -c '
import glob, os
try:
    import nvidia
except ImportError:
    raise SystemExit
roots = list(nvidia.__path__)
print(":".join(sorted(d for r in roots for d in glob.glob(r + "/*/lib") if os.path.isdir(d))))
' 2>/dev/null
}
gpu_libraries=$(nvidia_libraries)
for folder in /usr/local/cuda/lib64 "${CUDA_HOME:-/usr/local/cuda}/lib64" "$build/lib" \
    "$build/mpi/lib"; do
    [ -d "$folder" ] && gpu_libraries=${gpu_libraries:+$gpu_libraries:}$folder
done

# Do not run PyTorch with this: it has its own libraries.
ours() {
    env LD_LIBRARY_PATH="$gpu_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        PATH="$PATH:$build/mpi/bin" RINGMASTER_BIN="$build/bin" "$@"
}

# have_gpu: succeeds if a GPU answers, and sets $gpu_name.
have_gpu() {
    gpu_name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
    [ -n "$gpu_name" ]
}
