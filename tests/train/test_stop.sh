#!/bin/sh
# Tests SIGTERM to one rank of three: all of them stop after the same step, with a checkpoint from
# which the run continues as if it had not been stopped.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
make_data 480 40
flags="$common --data $data --schedule constant --report-every 1"

# rank_pid RANK: prints the process ID of that rank of this test.
rank_pid() {
    for entry in /proc/[0-9]*; do
        [ "$(cat "$entry/comm" 2>/dev/null)" = ringtrain ] &&
            tr '\0' '\n' <"$entry/cmdline" 2>/dev/null | grep -qx "$work/stopped" &&
            tr '\0' '\n' <"$entry/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" &&
            echo "${entry#/proc/}" && return
    done
}

# shellcheck disable=SC2086  # a list
train="$ringtrain train $flags --model-dir $work/model --checkpoint-dir $work/stopped"

echo "stopped on its way, however late this script is"
: >"$work/out"
# shellcheck disable=SC2086
recorded_ranks 3 $train --steps 100000 &
launcher=$!
heard "$work/out" '^train step=3 ' || fail "no third step"
kill -TERM "$(rank_pid 1)"
wait $launcher
codes 143 3
says "stopped on request after step"
steps=$(sed -n 's/.*stopped on request after step \([0-9]*\).*/\1/p' "$work/err")
[ -f "$work/stopped/step-$(printf %09d "$steps").safetensors" ] ||
    fail "no checkpoint of step $steps"
[ ! -e "$work/model/model.safetensors" ] || fail "published an unfinished model"

echo "resumed to the end, more than an epoch of 20 steps later, as one run would have gone"
end=$((steps + 30))
# shellcheck disable=SC2086
code 0 ranks 3 $train --steps $end
says "resumed from"
# shellcheck disable=SC2086
code 0 ranks 3 $ringtrain train $flags --steps $end --model-dir "$work/whole.model" \
    --checkpoint-dir "$work/whole"
same_weights "$work/model/model.safetensors" "$work/whole.model/model.safetensors" exact ""
