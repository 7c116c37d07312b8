# Functions that the test scripts for GPUs share; source it with the folder of this file in $here.
# shellcheck shell=sh
# shellcheck disable=SC2154  # $here is the script's
. "$here/../train/lib.sh"

# Skips the test where there is no device; the probe's output goes to a file.
need_gpu() {
    got=0
    OPS_ROWS=none "$tools/gpu_cuda_parity" >"$work/probe" 2>&1 || got=$?
    [ $got = 77 ] && skip "$(sed -n 's/^skipped: //p' "$work/probe" | head -n 1)"
    [ $got = 0 ] || { cat "$work/probe" >&2; fail "the device cannot be used"; }
}
