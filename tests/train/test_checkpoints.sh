#!/bin/sh
# Tests when checkpoints are written, that a run resumed from one has the same bits, and what
# happens when the disk is full, another job writes to the folder, or data cannot be read.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
make_data 160 20
common="--model resnet20 --image-size 16 --threads 1 --data-threads 1 --log metrics --report-every 1
    --validation none --schedule constant --nesterov true"

# flags NAME: prints the flags of a run with its folders named after it.
flags() {
    echo "$common --batch-size 4 --data $data --model-dir $work/$1.model --checkpoint-dir $work/$1"
}

# train N NAME FLAGS...: trains with N ranks; all have to succeed.
train() {
    n=$1 name=$2
    shift 2
    # shellcheck disable=SC2046  # a list
    code 0 ranks "$n" "$ringtrain" train $(flags "$name") "$@"
}

checkpoint() {
    echo "$work/$1/step-$(printf %09d "$2").safetensors"
}

echo "two ranks, cut within epochs: the bits of a run that was not, running statistics too"
train 2 whole --steps 44 --checkpoint-every 0
train 2 parts --steps 7 --checkpoint-every 0
train 2 parts --steps 33 --checkpoint-every 13
says "resumed from $(checkpoint parts 7)"
[ "$(grep -c ' checkpoint ' "$work/err")" = 4 ] || {
    cat "$work/err"
    fail "not 13, 20, 26 and 33"
}
says "$(checkpoint parts 13)"
train 2 parts --steps 44 --checkpoint-every 1s
same_weights "$(checkpoint whole 44)" "$(checkpoint parts 44)" exact ""
same_weights "$work/whole.model/model.safetensors" "$work/parts.model/model.safetensors" exact ""
says "images/s; "

echo "three ranks, cut within an epoch"
train 3 whole3 --steps 24 --checkpoint-every 0
train 3 parts3 --steps 9 --checkpoint-every 4
train 3 parts3 --steps 24 --checkpoint-every 0
same_weights "$work/whole3.model/model.safetensors" "$work/parts3.model/model.safetensors" exact ""

echo "time alone makes them, too"
without_launcher
pids=
for rank in 1 0; do
    # shellcheck disable=SC2046
    begin_rank "$work/timed.$rank" "$rank" 2 "$ringtrain" train $(flags timed) --data synthetic \
        --synthetic-images 1000000 --steps 100000 --checkpoint-every 1s
    pids="$pids $!"
done
heard "$work/timed.0" ' checkpoint ' || { cat "$work"/timed.?; fail "none before the end"; }
# shellcheck disable=SC2086  # a list
kill -TERM $pids
for pid in $pids; do
    code 143 wait "$pid"
done
grep -q 'stopped on request' "$work/timed.0" || { cat "$work/timed.0"; fail "not stopped by it"; }

echo "as many are kept as asked for"
# shellcheck disable=SC2046
code 0 "$ringtrain" train $(flags three) --steps 12 --checkpoint-every 2 --keep 3
[ "$(cd "$work/three" && echo step-*)" = \
    "step-000000008.safetensors step-000000010.safetensors step-000000012.safetensors" ] ||
    fail "not the newest three: $(ls "$work/three")"
# shellcheck disable=SC2046
code 0 "$ringtrain" train $(flags three) --steps 14 --keep 1 --checkpoint-every auto --mtbf 1h
[ "$(cd "$work/three" && echo step-*)" = step-000000014.safetensors ] ||
    fail "not one: $(ls "$work/three")"
code 64 "$ringtrain" train --data synthetic --keep 0
code 64 "$ringtrain" train --data synthetic --checkpoint-every auto --mtbf 0
says "--mtbf: '0' is no time between two failures"

echo "a word that is no interval"
code 64 "$ringtrain" train --data synthetic --checkpoint-every 1d
says "--checkpoint-every: '1d' is neither a number of steps"

echo "data that fails: both ranks leave with 66 and what they have; mended, the run ends as if nothing had been"
broken=$(find "$data/train" -name '*.jpg' | sort | sed -n 77p)
cp "$broken" "$work/good.jpg"
head -c 300 "$work/good.jpg" >"$broken"
# shellcheck disable=SC2046
recorded_ranks 2 "$ringtrain" train $(flags failed) --steps 44 --checkpoint-every 0
codes 66 2
says "$broken"
says "cannot continue"
saved=$(sed -n 's/.* checkpoint .*step-0*\([0-9]*\)\.safetensors$/\1/p' "$work/err" | tail -n 1)
[ -n "$saved" ] || { cat "$work/err"; fail "no checkpoint"; }
[ "$saved" = "$(losses "$work/out" | tail -n 1 | cut -d ' ' -f 1)" ] || fail "not the last step"
cp "$work/good.jpg" "$broken"
train 2 failed --steps 44
says "resumed from $(checkpoint failed "$saved")"
same_weights "$work/whole.model/model.safetensors" "$work/failed.model/model.safetensors" exact ""

echo "two jobs, one folder"
# shellcheck disable=SC2046
"$ringtrain" train $(flags shared) --steps 100000 >"$work/first.out" 2>"$work/first.err" &
first=$!
heard "$work/first.out" '^train step=3 ' || fail "the first job does not start"
# shellcheck disable=SC2046
code 65 "$ringtrain" train $(flags shared) --steps 3
says "another job is writing to $work/shared (host $(hostname), process $first, since "
# shellcheck disable=SC2046
code 65 "$ringtrain" train $(flags apart) --model-dir "$work/shared.model" --steps 3
says \
 "model-dir: another job is writing to $work/shared.model (host $(hostname), process $first, since "
kill -TERM "$first"
stopped=0
wait "$first" || stopped=$?
[ "$stopped" = 143 ] || { cat "$work/first.err"; fail "the first job ended with $stopped"; }
[ "$(find "$work/shared" -name 'step-*' | wc -l)" -ge 1 ] || fail "no checkpoint of the first job"
[ -z "$(find "$work/shared.model" -name '.*' -type f)" ] ||
    fail "the lock stays in the model's folder"
# shellcheck disable=SC2046
code 65 "$ringtrain" train $(flags shared) --steps 3
says "nothing to train: $work/shared holds a longer run ("
says "total_steps 3 (was 100000)"

echo "files from before there were versions"
mkdir -p "$work/first" "$work/first.model"
old=$(dirname "$0")/../data/format1
gzip -dc "$old/step-000000006.safetensors.gz" >"$(checkpoint first 6)"
gzip -dc "$old/model.safetensors.gz" >"$work/first.model/model.safetensors"
cp "$old/config.json" "$work/first.model"
# shellcheck disable=SC2046
code 0 "$ringtrain" train $(flags first) --image-size 32 --data synthetic --synthetic-images 32 \
    --synthetic-classes 2 --batch-size 8 --steps 8
says "resumed from $(checkpoint first 6): 6 steps done"
[ "$(losses "$work/out" | sed -n '1s/ .*//p')" = 7 ] || fail "did not go on at step 7"
mkdir -p "$work/two/class0" "$work/two/class1"
cp "$data"/val/circle/* "$work/two/class0"
cp "$data"/val/square/* "$work/two/class1"
gzip -dc "$old/model.safetensors.gz" >"$work/first.model/model.safetensors"
cp "$old/config.json" "$work/first.model"
code 0 "$ringtrain" eval --model-dir "$work/first.model" --data "$work/two" --threads 1

echo "a disk for two checkpoints: the older one makes room; one for a single one: an error that costs nothing"
mkdir "$work/disk"
# on_disk SIZE FLAGS...: trains with a file system of this size at $work/disk and copies its files
# to $work/kept afterwards.
on_disk() {
    size=$1
    shift
    # shellcheck disable=SC2016,SC2046  # for the shell below; a list
    unshare --mount sh -c '
        mount -t tmpfs -o size="$1" none "$2/disk" || exit 99
        kept=$2
        shift 2
        "$@"
        result=$?
        rm -rf "$kept/kept" && cp -r "$kept/disk" "$kept/kept"
        exit $result' - "$size" "$work" \
        "$ringtrain" train $(flags disk) --checkpoint-dir "$work/disk" "$@"
}
if unshare --mount true 2>/dev/null; then
    code 0 on_disk 5m --steps 10 --checkpoint-every 2
    says "no room in $work/disk: removed its oldest checkpoint, step 2"
    [ -f "$work/kept/step-000000010.safetensors" ] || fail "no last checkpoint: $(ls "$work/kept")"
    code 65 on_disk 3m --steps 10 --checkpoint-every 2
    says "no room for it beside the newest checkpoint"
    says "No space left on device"
    [ "$(ls "$work/kept")" = step-000000002.safetensors ] || fail "other files: $(ls "$work/kept")"
    rm -r "$work/disk"
    cp -r "$work/kept" "$work/disk"
    # shellcheck disable=SC2046
    code 0 "$ringtrain" train $(flags disk) --checkpoint-dir "$work/disk" --steps 3
    says "resumed from $work/disk/step-000000002.safetensors"
else
    skip_part "full disks: not allowed to mount"
fi
