#!/bin/sh
# Whole jobs as on Linux 5.4, and in a container of an engine whose filter refuses newer system calls: other scripts of
# this folder, with a RINGMASTER_BIN whose launcher begins under such a filter (filtered.c). SCRIPTS="job_direct" runs
# some of them, FILTERS=linux-5.4 one of both.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
system=$top/tests/system
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

failed=0 skipped=0
for filter in ${FILTERS:-linux-5.4 old-engine}; do
    "$real/filtered" "$filter" /bin/true || skip "the kernel takes no filter"
    mkdir -p "$folder/$filter/bin"
    ln -s "$(dirname "$real")/tests" "$folder/$filter/tests"
    for program in "$real"/*; do ln -s "$program" "$folder/$filter/bin/"; done
    for name in train ringmaster; do
        rm "$folder/$filter/bin/$name"
        printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$real/filtered" "$filter" "$real/$name" >"$folder/$filter/bin/$name"
        chmod +x "$folder/$filter/bin/$name"
    done
    for script in $scripts; do
        echo "== $filter: $script"
        case $script in
        faults) RINGMASTER_BIN=$folder/$filter/bin WORKLOAD=sh LAUNCHER=direct HOSTS=3 sh "$system/faults.sh" ;;
        *) RINGMASTER_BIN=$folder/$filter/bin sh "$system/test_$script.sh" ;;
        esac
        case $? in
        0) ;;
        77) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) ;;
        esac
    done
done
echo "$failed scripts failed, $skipped were skipped or had cases skipped"
[ "$failed" = 0 ] || exit 1
[ "$skipped" = 0 ] || exit 77
