#!/bin/sh
# Tests parameter servers that do not wait for all workers (--strategy ps-async): training gets as
# far as with allreduce; a lost worker does not end the run, but a stop, the loss of rank 0 or of a
# server does; and the run continues from its checkpoints.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 64 40
without_launcher
# Ranks that a failed check has left running are killed.
# shellcheck disable=SC2046  # a list
trap 'set -- $?; set +e; kill -9 $(jobs -p) 2>/dev/null; (exit "$1"); finish' EXIT

# begin SIZE NAME FLAGS...: starts ranks in the background; their outputs are $work/NAME.RANK, their
# process IDs $pidRANK.
begin() {
    size=$1 name=$2
    shift 2
    port=$((port + 1))
    rank=0
    while [ "$rank" -lt "$size" ]; do
        # shellcheck disable=SC2086  # a list
        RANK="$rank" WORLD_SIZE="$size" LOCAL_RANK="$rank" LOCAL_WORLD_SIZE="$size" \
            MASTER_ADDR="$host" MASTER_PORT="$port" "$ringtrain" train $common --data "$data" \
            --report-every 1 --model-dir "$work/$name.model" --checkpoint-dir "$work/$name.steps" \
            "$@" >"$work/$name.$rank" 2>&1 &
        eval "pid$rank=$!"
        rank=$((rank + 1))
    done
}
# ends RANK CODE: waits for the rank; its exit code must be CODE.
ends() {
    checks=$((checks + 1))
    ended=0
    eval "wait \$pid$1" || ended=$?
    [ "$ended" = "$2" ] || {
        tail -n 20 "$work/$name".*
        fail "rank $1 of $name: code $ended, not $2"
    }
}
# tells RANK PATTERN: the rank prints a line that matches PATTERN.
tells() {
    checks=$((checks + 1))
    heard "$work/$name.$1" "$2" || {
        tail -n 20 "$work/$name".*
        fail "$name: rank $1 does not tell '$2'"
    }
}
# all_end CODE RANK...
all_end() {
    code=$1
    shift
    for rank in "$@"; do ends "$rank" "$code"; done
}
# loss NAME: prints the mean loss of the last twelve steps, on few pictures without augmentation.
loss() { losses "$work/$1.0" | tail -n 12 | awk '{ sum += $2 } END { print sum / NR }'; }

echo "as far as allreduce"
still="--augment center --flip false --warmup-epochs 1"
# shellcheck disable=SC2086  # a list
begin 2 together --steps 140 --lr 0.2 $still
all_end 0 0 1
# shellcheck disable=SC2086
begin 4 apart --steps 140 --lr 0.2 $still --strategy ps-async --servers 2 --checkpoint-every 50
all_end 0 0 1 2 3
echo "  $(losses "$work/apart.0" | sed -n '1s/.* //p') at first; at the end allreduce" \
    "$(loss together), ps-async $(loss apart)"
awk -v a="$(loss together)" -v b="$(loss apart)" \
    'BEGIN { exit !(a < 0.7 && b < 0.9 && b < a + 0.4) }' || fail "it does not come as far"

echo "its checkpoints are continued, by itself and by allreduce"
name=apart
# others DIR STEP: prints the flags that continue from that checkpoint under other settings.
others() { echo "--resume $work/$1.steps/step-$(printf %09d "$2").safetensors"; }
# shellcheck disable=SC2046  # a list
begin 4 apart --steps 144 $(others apart 140) --strategy ps-async --servers 2 --staleness 0
all_end 0 0 1 2 3
tells 0 'step-000000140'
# shellcheck disable=SC2046
begin 2 apart --steps 148 $(others apart 144)
all_end 0 0 1
tells 0 'step-000000144'

echo "a lost worker costs only itself"
# steps_of NAME: prints the last step that rank 0 reports.
steps_of() { sed -n 's/^train step=\([0-9]*\) .*/\1/p' "$work/$1.0" | tail -n 1; }
# The epochs are long, since a worker that is lost while all ranks evaluate or save ends the run.
many="--data synthetic --synthetic-images 100000 --validation none"
# shellcheck disable=SC2086  # a list
begin 4 lost $many --steps 4000 --strategy ps-async --servers 1 --checkpoint-every 40
tells 0 'train step=10 '
# Rank 0 stands still meanwhile, and far from a checkpoint, so that nobody saves.
kill -STOP "$pid0"
at=$(steps_of lost)
until [ $((at % 40)) -ge 5 ] && [ $((at % 40)) -lt 30 ]; do
    kill -CONT "$pid0"
    tells 0 "train step=$(((at + 10) / 40 * 40 + 5)) "
    kill -STOP "$pid0"
    at=$(steps_of lost)
done
kill -9 "$pid2"
ends 2 137
kill -CONT "$pid0"
tells 0 'rank 2 is lost'
before=$(steps_of lost)
tells 0 "train step=$((before + 50)) "
tells 0 "checkpoint .*step-0*$(((before / 40 + 2) * 40))"
kill -TERM "$pid1"
all_end 143 0 1 3
tells 3 'rank 2 is lost'
grep -q '"kind":"worker-lost".*"rank":2' "$work/lost.model/run.jsonl" ||
    fail "run.jsonl does not tell of the lost worker"
ls "$work"/lost.steps/step-*.safetensors >/dev/null || fail "no checkpoint at the stop"
echo "and the next start is whole again"
# shellcheck disable=SC2086
begin 4 lost $many --steps 4000 --strategy ps-async --servers 1
tells 0 "train step="
kill -TERM "$pid0"
all_end 143 0 1 2 3

echo "rank 0, and a server, end the run"
# shellcheck disable=SC2086
begin 3 first $many --steps 4000 --strategy ps-async --servers 1
tells 0 'train step=3 '
kill -9 "$pid0"
ends 0 137
all_end 70 1 2
tells 2 'rank 0 is lost'
# shellcheck disable=SC2086
begin 3 served $many --steps 4000 --strategy ps-async --servers 1
tells 0 'train step=3 '
kill -9 "$pid2"
ends 2 137
all_end 70 0 1
tells 1 'rank 2 at .* has closed its connection'

echo "what cannot be"
code 64 "$ringtrain" train --data "$data" --strategy ps-async
says 'give --servers N'
code 64 "$ringtrain" train --data "$data" --staleness -1
says '--staleness'
# refused TEXT FLAGS...: three ranks over TCP refuse these flags; rank 0 prints TEXT.
refused() {
    words=$1
    shift
    begin 3 refused --steps 4 --strategy ps-async --servers 1 "$@"
    ended=0
    wait "$pid0" || ended=$?
    [ "$ended" = 64 ] || { cat "$work"/refused.*; fail "$*: code $ended"; }
    tells 0 "$words"
    wait "$pid1" "$pid2" || :
}
refused 'workers have different weights' --verify-every 2
refused 'norms of whole tensors' --optimizer lars
refused 'sum of all gradients' --histograms 2
if can_mpirun; then
    # shellcheck disable=SC2086  # a list
    recorded_ranks 3 "$ringtrain" train $common --data "$data" --steps 4 --strategy ps-async \
        --servers 1
    codes 65 3
    says 'give --comm tcp'
fi
