#!/bin/sh
# Tests that the ranks of one host share a single index of the annotations, and that ranks that
# cannot share it read the file themselves.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
program=$tools/index_ranks
[ -x "$program" ] || skip "no index_ranks in this build"
"$ringtrain" prepare shapes --coco "$work/set" --train 300 --validation 2 >"$work/out" ||
    fail "no set"
json=$work/set/annotations/instances_train.json

# measured KIND: runs three ranks; $sum becomes the total of their shares and $one the size of one
# index, both in KiB.
measured() {
    code 0 ranks 3 "$program" "$1" "$json"
    [ "$(grep -c 'annotations, hash' "$work/out")" = 3 ] || {
        cat "$work/out"
        fail "$1: not three ranks"
    }
    [ "$(sed 's/.* of 3: //; s/, [0-9]* KiB its share//' "$work/out" | sort -u | wc -l)" = 1 ] || {
        cat "$work/out"
        fail "$1: other contents"
    }
    cat "$work/out"
    sum=$(awk '{ sum += $(NF - 3) } END { print sum }' "$work/out")
    one=$(awk '{ print $(NF - 6); exit }' "$work/out")
}

measured own
[ "$sum" -ge $((3 * one)) ] || fail "three indices of $one KiB are $sum KiB"
echo "each its own: $sum KiB of three ranks, an index is $one KiB"
measured host
# Each share is rounded down to whole KiB.
[ "$sum" -le "$one" ] && [ "$sum" -ge $((one - 3)) ] || fail "one index of $one KiB is $sum KiB"
echo "one for the host: $sum KiB of three ranks"

echo "ranks that do not see one another's processes read it themselves"
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    # By default, Open MPI's ranks on one host read each other's memory by process ID, which fails
    # across PID namespaces.
    OMPI_MCA_btl_vader_single_copy_mechanism=none
    export OMPI_MCA_btl_vader_single_copy_mechanism
    # shellcheck disable=SC2016  # for the rank's own shell
    code 0 ranks 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$@"
        exec unshare --pid --fork --mount-proc "$@"' - "$program" host "$json"
    [ "$(grep -c "$one KiB mapped, $one KiB its share" "$work/out")" = 2 ] || {
        cat "$work/out"
        fail "not one each"
    }
else
    skip_part "ranks in process spaces of their own: not allowed to make any"
fi

echo "a file that is none: all ranks say so"
printf '{' >"$work/bad.json"
recorded_ranks 2 "$program" host "$work/bad.json"
codes 66 2
says "$work/bad.json"
