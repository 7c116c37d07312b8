#!/bin/sh
# Builds what the tests and measurements on a GPU need, and packs it with its libraries into one
# folder, for a machine that has a GPU, CUDA's libraries and cuDNN, but neither our other libraries
# nor a network. bench/gpu_all.sh looks for it in the default folder.
#
#   sh bench/gpu_pack.sh [FOLDER]         default .gpu, which git ignores
#   REVISION=REV sh bench/gpu_pack.sh .gpu-before
#
#   REVISION        a git revision to build instead of the working tree, without data and Open MPI,
#                   for a comparison with a pack of the working tree made without data (gpu_all.sh,
#                   BEFORE)
#   ARCHITECTURES   of the GPUs, default 90 (H100, H200)
#   MPI             0 leaves Open MPI out. If it is installed, it is packed with a ringtrain of its
#                   own, as its libraries need a newer C library than all the others
#   DATA            a folder with cifar10-jpg.tar.gz and imagenet-sample.tar.gz: the first is packed
#                   whole, of the second as many pictures as fit into PICTURES MiB, default 8
#   LIMIT           maximum size of the folder in MiB, default 60
set -eu
cd "$(dirname "$0")/.."
. tests/building.sh
pack=${1:-.gpu}
tree=build/gpu_pack
limit=${LIMIT:-60}
revision=${REVISION:-}
source=.

fail() {
    echo "gpu_pack.sh: $*" >&2
    exit 1
}

# build TREE MPI TARGET...
build() {
    folder=$1 with_mpi=$2
    shift 2
    mkdir -p "$folder"
    cmake -S "$source" -B "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRINGMASTER_CUDA=ON \
        -DRINGMASTER_CUDA_ARCHITECTURES="${ARCHITECTURES:-90}" -DRINGMASTER_ONEDNN=OFF \
        -DRINGMASTER_ENTRYPOINT=OFF -DRINGMASTER_MPI="$with_mpi" \
        -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
        "-DCMAKE_INSTALL_RPATH=\$ORIGIN/../lib" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
        >"$folder/configure.log" 2>&1 ||
        { tail -n 20 "$folder/configure.log" >&2; fail "cmake failed"; }
    # All tests that need a GPU.
    # shellcheck disable=SC2046  # a list
    [ "$with_mpi" = ON ] ||
        set -- "$@" $(targets "$folder" 'gpu_cuda_.*')
    cmake --build "$folder" --parallel "$(nproc)" --target "$@" >"$folder/build.log" 2>&1 ||
        { tail -n 40 "$folder/build.log" >&2; fail "the build failed"; }
}

if [ -n "$revision" ]; then
    revision=$(git rev-parse --short --verify "$REVISION^{commit}") || fail "git knows no $REVISION"
    tree=$tree-before
    source=$PWD/$tree/source
    git worktree prune
    rm -rf "$source"
    mkdir -p "$tree"
    git worktree add --quiet --detach --force "$source" "$revision" || fail "no files of $revision"
    trap 'git worktree remove --force "$source"' EXIT
    MPI=0 DATA=
fi

launcher=$(command -v orterun || true)
command -v mpicc >/dev/null && [ "${MPI:-1}" != 0 ] || launcher=
build "$tree" OFF ringtrain weights_compare bench_gpu_step bench_gpu_ceilings bench_gpu_kernels
[ -z "$launcher" ] || build "$tree/mpi" ON ringtrain

rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/tests" "$pack/bench" "$pack/lib"
cp "$tree/bin/ringtrain" "$pack/bin/"
cp "$tree"/tests/gpu_cuda_* "$tree/tests/weights_compare" "$pack/tests/"
cp "$tree"/bench/bench_gpu_* "$pack/bench/"

# take_libraries FOLDER FILE...: copies the libraries that the files load, except for the compiler's
# and CUDA's, which the other machine has.
take_libraries() {
    into=$1
    shift
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        grep -vE \
            '/(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s)\.so|libcud|libcublas|libnv|libnccl)' |
        while IFS= read -r library; do
            cp -Lu "$library" "$into/"
        done
}
take_libraries "$pack/lib" "$pack"/bin/* "$pack"/tests/* "$pack"/bench/*

# Open MPI's launcher, and its plug-ins for ranks on one machine.
if [ -n "$launcher" ]; then
    plugins=$(ompi_info --path pkglibdir --parsable | cut -d : -f 3)
    mkdir -p "$pack/mpi/bin" "$pack/mpi/lib" "$pack/mpi/plugins"
    cp -L "$launcher" "$pack/mpi/bin/orterun"
    cp "$tree/mpi/bin/ringtrain" "$pack/mpi/bin/"
    cp -L "$plugins"/*.so "$pack/mpi/plugins/"
    # Removes plug-ins for other networks and schedulers, which need large libraries of their own.
    (cd "$pack/mpi/plugins" && rm -f ./*ofi* ./*ucx* ./*psm* ./*openib* ./*usnic* ./*portals* \
        ./*verbs* ./*tm.so ./*slurm* ./*gridengine* ./*hcoll* ./*monitoring* ./*oshmem* ./*scoll* \
        ./*sshmem* ./*spml* ./*memheap* ./*munge* ./libompi_dbg*)
    take_libraries "$pack/mpi/lib" "$pack/mpi/bin/orterun" "$pack/mpi/bin/ringtrain" \
        "$pack"/mpi/plugins/*.so
    cat >"$pack/mpi/bin/mpirun" <<'END'
#!/bin/sh
# Open MPI out of this folder.
here=$(cd "$(dirname "$0")/.." && pwd)
export OPAL_PREFIX="$here" LD_LIBRARY_PATH="$here/lib:${LD_LIBRARY_PATH:-}"
export OMPI_MCA_mca_base_component_path="$here/plugins"
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
exec "$here/bin/orterun" "$@"
END
    chmod +x "$pack/mpi/bin/mpirun"
fi

find "$pack" -type f \( -name '*.so*' -o -perm -u+x \) -exec strip --strip-unneeded {} + \
    2>/dev/null || true

if [ -n "${DATA:-}" ]; then
    mkdir -p "$pack/data"
    [ ! -e "$DATA/cifar10-jpg.tar.gz" ] || cp "$DATA/cifar10-jpg.tar.gz" "$pack/data/"
    if [ -e "$DATA/imagenet-sample.tar.gz" ]; then
        mkdir -p "$tree/pictures"
        tar -xzf "$DATA/imagenet-sample.tar.gz" -C "$tree/pictures"
        (cd "$tree/pictures" && find . -type f -size -200k | sort |
            awk -v most="${PICTURES:-8}" '
            { cmd = "wc -c <\"" $0 "\""; cmd | getline size; close(cmd); sum += size
              if (sum > most * 1048576) exit
              print }') >"$tree/pictures.list"
        tar -C "$tree/pictures" -cf "$pack/data/pictures.tar" -T "$tree/pictures.list"
        rm -rf "$tree/pictures"
    fi
fi

size=$(du -sm "$pack" | cut -f 1)
echo "${revision:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}" >"$pack/revision"
echo "$pack: $size MiB"
du -sm "$pack"/* | sed 's/^/    /'
[ "$size" -le "$limit" ] || fail "$size MiB are more than $limit (DATA=, MPI=0, PICTURES=)"
