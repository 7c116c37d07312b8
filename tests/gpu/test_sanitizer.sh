#!/bin/sh
# Runs compute-sanitizer on small cases: memcheck on every operator's smallest rows, racecheck and
# synccheck on the kernels with memory shared by threads. A start loads cuDNN and finds plans, which
# takes longer than the rows. So each tool starts once, and all fit into the part's time limit
# (bench/gpu_all.sh).
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
here=$(dirname "$0")
. "$here/lib.sh"
need_gpu
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[ -x "$sanitizer" ] || skip "no compute-sanitizer"

# clean TOOL ROWS PROGRAM: TOOL finds no error in PROGRAM, and the program's own assertions hold.
# Libraries may ask the driver for what it does not have; that is no error.
clean() {
    echo "$1: ${3##*/} (rows: $2)"
    got=0 more=
    checks=$((checks + 1))
    [ "$1" = memcheck ] && more='--report-api-errors no'
    # shellcheck disable=SC2086  # a list
    OPS_ROWS=$2 timeout --foreground 90 "$sanitizer" --tool "$1" $more --error-exitcode 99 \
        --launch-timeout 60 "$3" >"$work/report" 2>&1 || got=$?
    grep -hE 'Device not supported|LibraryNotLoaded' "$work/report" &&
        skip "compute-sanitizer does not work on this machine"
    [ $got = 0 ] || { tail -n 60 "$work/report" >&2; fail "$1 ended with $got"; }
}

clean memcheck 'tiny|odd channels|data gradient into a dual join|with ties|of ties|mask rows of|mask targets|rpn targets|rpn head|resize|total loss' \
    "$tools/gpu_cuda_parity"
clean racecheck 'norm relu tiny|loss tiny|roi align tiny|class conv tiny|top 1|nms of equals' \
    "$tools/gpu_cuda_parity"
clean synccheck 'join tiny|loss tiny|roi align tiny|top 1|nms of equals' "$tools/gpu_cuda_parity"
