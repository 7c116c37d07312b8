#!/bin/sh
# Whole jobs as on Linux 5.4, and in a container of an engine whose filter refuses newer system calls: other scripts of
# this folder, with a RINGMASTER_BIN whose launcher begins under such a filter (filtered.c). SCRIPTS="job_direct" runs
# some of them, FILTERS=linux-5.4 one of both.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/rerun.sh"
real=${RINGMASTER_BIN:-$top/build/release/bin}

skip() {
    echo "skipped: $*"
    exit 77
}
[ -x "$real/train" ] || skip "$real/train is not built"
[ "${DRIVER:-ns}" = ns ] || skip "an engine has a filter of its own"
# Scripts that run at the same time have a folder each.
folder=$top/build/filtered-$$
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' INT TERM HUP

scripts=${SCRIPTS:-job_direct${RINGMASTER_LONG:+ job faults hangs uploads failover}}
unset SCRIPTS # which others read, too

for filter in ${FILTERS:-linux-5.4 old-engine}; do
    "$real/filtered" "$filter" /bin/true || skip "the kernel takes no filter"
    mkdir -p "$folder/$filter/bin"
    for name in train ringmaster; do
        printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$real/filtered" "$filter" "$real/$name" >"$folder/$filter/bin/$name"
        chmod +x "$folder/$filter/bin/$name"
    done
    copy_programs "$folder/$filter" "$real"
    export RINGMASTER_BIN="$folder/$filter/bin"
    echo "== $filter"
    for script in $scripts; do rerun_script "$script"; done
done
rerun_end
