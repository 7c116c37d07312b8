# What the scripts among the tests on a GPU share: source it with the folder of this file in $here.
# shellcheck shell=sh
# shellcheck disable=SC2154  # $here is the script's
. "$here/../train/lib.sh"

# What a program leaves on the screen is said by need_gpu's own words; the rest goes to a file.
need_gpu() {
    got=0
    OPS_ROWS=none "$tools/gpu_cuda_parity" >"$work/probe" 2>&1 || got=$?
    [ $got = 77 ] && skip "$(sed -n 's/^skipped: //p' "$work/probe" | head -n 1)"
    [ $got = 0 ] || { cat "$work/probe" >&2; fail "the device cannot be used"; }
}
