#!/bin/sh
# Whole jobs with the static launcher (docker/static.sh) instead of the one that is built for this
# machine: other scripts of this folder, with a RINGMASTER_BIN in which everything but the launcher
# is that build's. Runs only in `sh tests/run.sh long`; SCRIPTS="job https" selects scripts.
# shellcheck disable=SC2154  # rerun.sh's variables
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/rerun.sh"
dynamic=${RINGMASTER_BIN:-$top/build/release/bin}

skip() {
    echo "skipped: $*"
    exit 77
}
[ -n "${RINGMASTER_LONG:-}${SCRIPTS:-}" ] ||
    skip "builds a compiler's worth of libraries: sh tests/run.sh long"
[ -x "$dynamic/train" ] || skip "$dynamic/train is not built"
for program in cmake ninja perl pkg-config; do
    command -v $program >/dev/null || skip "no $program"
done
sh "$top/docker/static.sh" || { echo "FAILED: docker/static.sh"; exit 1; }

# A copy of the launcher, which finds ringtrain beside itself.
folder=$top/build/static-tests
rm -rf "$folder"
mkdir -p "$folder/bin"
cp "$top/build/static-x86_64/bin/ringmaster" "$folder/bin/ringmaster"
for name in train ringmaster-transfer; do ln -s ringmaster "$folder/bin/$name"; done
copy_programs "$folder" "$dynamic"
export RINGMASTER_BIN="$folder/bin" RINGMASTER_STATIC=1

scripts=${SCRIPTS:-job https uploads sources bad_input devices trainer_status stop_signals spares
    hangs faults old_kernel}
unset SCRIPTS # the other scripts read it, too

for script in $scripts; do
    rerun_script "$script"
    if [ "$script" = faults ]; then
        rerun env WORKLOAD=sh LAUNCHER=direct HOSTS=8 sh "$system/faults.sh"
        for workload in sh mpi; do rerun env WORKLOAD=$workload HOSTS=3 sh "$system/faults.sh"; done
    fi
done
rerun_end
