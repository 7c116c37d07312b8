#!/bin/sh
# Tests whole jobs as on Linux 5.4, and as in a container of an engine that filters out newer system
# calls: it runs other scripts of this folder with a RINGMASTER_BIN that starts the launcher under
# such a filter (filtered.c). SCRIPTS="job_direct" selects scripts, FILTERS=linux-5.4 a filter.
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
# Runs of this script at the same time have a folder each.
folder=$top/build/filtered-$$
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' INT TERM HUP

scripts=${SCRIPTS:-job_direct${RINGMASTER_LONG:+ job faults hangs uploads failover}}
unset SCRIPTS # the other scripts read it, too

for filter in ${FILTERS:-linux-5.4 old-engine}; do
    "$real/filtered" "$filter" /bin/true || skip "the kernel takes no filter"
    mkdir -p "$folder/$filter/bin"
    for name in train ringmaster; do
        printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$real/filtered" "$filter" "$real/$name" \
            >"$folder/$filter/bin/$name"
        chmod +x "$folder/$filter/bin/$name"
    done
    copy_programs "$folder/$filter" "$real"
    export RINGMASTER_BIN="$folder/$filter/bin"
    echo "== $filter"
    for script in $scripts; do rerun_script "$script"; done
done
rerun_end
