#!/bin/sh
# compute-sanitizer over small cases: memcheck over every operator's smallest rows, racecheck and
# synccheck over the kernels that share memory among threads. A start loads cuDNN and finds plans,
# which takes longer than the rows: so a tool starts once, and all of them fit into the part's time
# (bench/gpu_all.sh).
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
here=$(dirname "$0")
. "$here/lib.sh"
need_gpu
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[ -x "$sanitizer" ] || skip "no compute-sanitizer"

# clean TOOL ROWS PROGRAM: no error in PROGRAM, whose own assertions hold too. Libraries may ask the
# driver what it does not have: that is none.
clean() {
    echo "$1: ${3##*/} (rows: $2)"
    got=0 more=
    checks=$((checks + 1))
    [ "$1" = memcheck ] && more='--report-api-errors no'
    # shellcheck disable=SC2086  # a list
    OPS_ROWS=$2 timeout --foreground 90 "$sanitizer" --tool "$1" $more --error-exitcode 99 --launch-timeout 60 "$3" \
        >"$work/report" 2>&1 || got=$?
    grep -hE 'Device not supported|LibraryNotLoaded' "$work/report" &&
        skip "compute-sanitizer does not work on this machine"
    [ $got = 0 ] || { tail -n 60 "$work/report" >&2; fail "$1 ended with $got"; }
}

clean memcheck 'tiny|odd channels|data gradient into a dual join|with ties|of ties|mask rows of|mask targets|rpn targets|rpn head|resize|total loss' \
    "$tools/gpu_cuda_parity"
clean racecheck 'norm relu tiny|loss tiny|roi align tiny|class conv tiny|top 1|nms of equals' "$tools/gpu_cuda_parity"
clean synccheck 'join tiny|loss tiny|roi align tiny|top 1|nms of equals' "$tools/gpu_cuda_parity"
