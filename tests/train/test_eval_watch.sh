#!/bin/sh
# Tests eval --watch: it scores each checkpoint while the trainer runs, for classifiers and
# detectors, and exits with the right code.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 40
"$ringtrain" prepare shapes --coco "$work/set" --train 8 --validation 4 >"$work/out" ||
    fail "no set"
python=${RINGMASTER_PYTHON:-python3}

# Empties the logs before a program starts in the background, so that hear does not match old lines.
forget() { for file in watch.out watch.err train.out train.err; do : >"$work/$file"; done; }

# hear FILE PATTERN: waits until a line of the file matches, or fails.
hear() {
    heard "$1" "$2" || {
        cat "$work"/watch.* "$work"/train.* >&2
        # shellcheck disable=SC2086  # those that run; the trainer may be stopped
        kill -KILL ${watch:-} ${trainer:-} 2>/dev/null || :
        fail "not heard: $2"
    }
}

# ended WANTED PID WHO: waits for the process; its exit code has to be WANTED.
ended() {
    got=0
    wait "$2" || got=$?
    [ "$got" = "$1" ] || {
        cat "$work"/watch.* "$work"/train.* >&2
        fail "$3 ended with $got, not $1"
    }
}

# event_steps FOLDER: prints "STEP TAG" for the scalars in its event file, decoded without
# TensorBoard.
event_steps() {
    "$python" - "$1" <<'END'
import glob, struct, sys

def varint(b, i):
    value = shift = 0
    while True:
        value |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return value, i

def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            value, i = varint(b, i)
        else:
            if key & 7 == 2:
                size, i = varint(b, i)
            else:
                size = 8 if key & 7 == 1 else 4
            value, i = b[i:i + size], i + size
        yield key >> 3, value

name, = glob.glob(sys.argv[1] + '/events.out.tfevents.*')
b = open(name, 'rb').read()
at = 0
while at < len(b):
    size, = struct.unpack_from('<Q', b, at)
    event = list(fields(b[at + 12:at + 12 + size]))
    at += size + 16
    step = dict((k, v) for k, v in event if k == 2).get(2, 0)
    for _, summary in (e for e in event if e[0] == 5):
        for _, value in fields(summary):
            print(step, dict(fields(value))[1].decode())
END
}

# beside NAME FLAGS...: starts a watch and then a training with $flags on $set_dir. The trainer is
# stopped after its first checkpoint until that is scored; if it ended before it could be stopped,
# its last two checkpoints are there.
# shellcheck disable=SC2086  # lists
beside() {
    name=$1
    shift
    forget
    "$ringtrain" eval --watch "$work/$name" --data "$set_dir" --threads 1 --data-threads 1 \
        --tensorboard-dir "$work/$name.events" \
        "$@" >"$work/watch.out" 2>"$work/watch.err" &
    watch=$!
    hear "$work/watch.err" "waiting for checkpoints in $work/$name"
    "$ringtrain" train $flags --data "$set_dir" --validation none --model-dir "$work/$name.model" \
        --checkpoint-dir "$work/$name" >"$work/train.out" 2>"$work/train.err" &
    trainer=$!
    hear "$work/train.err" " checkpoint "
    kill -STOP "$trainer" 2>/dev/null || :
    hear "$work/watch.out" '^eval '
    kill -CONT "$trainer" 2>/dev/null || :
    ended 0 "$trainer" "the trainer"
    ended 0 "$watch" "the watch"
    [ "$(grep -c '^eval ' "$work/watch.out")" -ge 2 ] || {
        cat "$work/watch.err"
        fail "one evaluation"
    }
    [ "$(grep -c '^eval ' "$work/watch.out")" = "$(grep -c 'scoring ' "$work/watch.err")" ] ||
        fail "not one line a checkpoint"
    code 0 "$ringtrain" eval --model-dir "$work/$name.model" --data "$set_dir" --threads 1 \
        --data-threads 1
    [ "$(evaluations "$work/out")" = "$(evaluations "$work/watch.out" | tail -n 1)" ] || {
        cat "$work/out" "$work/watch.out"
        fail "the last line is not that of the model"
    }
}

# steps_told NAME TAG: the event file has the scores at the checkpoints' steps.
steps_told() {
    command -v "$python" >/dev/null || { skip_part "steps in event files: no $python"; return 0; }
    sed -n 's/.*scoring .*step-0*\([0-9]*\)\.safetensors$/\1/p' "$work/watch.err" >"$work/wanted"
    event_steps "$work/$1.events/watch" | sed -n "s|^\([0-9]*\) $2\$|\1|p" >"$work/told"
    cmp "$work/wanted" "$work/told" || {
        cat "$work/wanted" "$work/told"
        fail "other steps of $2"
    }
}

echo "a classifier"
flags="$common --steps 30 --checkpoint-every 10"
set_dir=$data
beside classes
[ "$(evaluations "$work/watch.out" | head -n 1 | sed 's/epoch=[^ ]* //')" != \
    "$(scores "$work/watch.out")" ] ||
    fail "the first checkpoint has the scores of the last"
steps_told classes top1

echo "a detector, and what it found"
flags="--model maskrcnn_tiny --batch-size 2 --threads 1 --data-threads 1 --epochs 3
    --warmup-steps 0 --lr 0.001"
set_dir=$work/set
beside objects --batch-size 2 --out "$work/found" --pictures 1 --score-threshold 0
steps_told objects bbox_mAP
[ -f "$work/found/detections.json" ] || fail "no detections"
sed -n 's/.*scoring .*\(step-[0-9]*\)\.safetensors$/\1/p' "$work/watch.err" | sort >"$work/wanted"
find "$work/found/pictures" -name '*.jpg' | sed 's|.*/\(step-[0-9]*\)-[0-9]*\.jpg|\1|' |
    sort >"$work/told"
cmp "$work/wanted" "$work/told" || {
    cat "$work/wanted" "$work/told"
    fail "not a picture of each"
}

echo "of a training that has ended the checkpoints that are left"
code 0 "$ringtrain" eval --watch "$work/classes" --data "$data" --threads 1 \
    --tensorboard-dir "$work/late"
[ "$(grep -c '^eval ' "$work/out")" = 2 ] || fail "not the two that are kept"
command -v "$python" >/dev/null || skip_part "what TensorBoard shows: no $python"
for time in 1 2; do
    command -v "$python" >/dev/null || continue
    sleep 1 # event files are named after the time in seconds
    code 0 "$ringtrain" eval --watch "$work/classes" --data "$data" --threads 1 \
        --tensorboard-dir "$work/late"
    "$python" "$(dirname "$0")/tfevents.py" "$work/late/watch" >"$work/steps" || fail "no events"
    grep -qx "loss 20 30" "$work/steps" ||
        fail "after another watch ($time), in TensorBoard: $(cat "$work/steps")"
done
if can_mpirun; then
    echo "two ranks"
    grep '^eval ' "$work/out" >"$work/one"
    code 0 ranks 2 "$ringtrain" eval --watch "$work/classes" --data "$data" --threads 1 \
        --batch-size 20
    [ "$(sed 's/ loss=.*//' "$work/one")" = \
        "$(grep '^eval ' "$work/out" | sed 's/ loss=.*//')" ] || {
        cat "$work/one" "$work/out"
        fail "other scores"
    }
fi

echo "no next checkpoint: 74; a stop: 143"
mkdir "$work/quiet"
code 74 "$ringtrain" eval --watch "$work/quiet" --data "$data" --watch-patience 1s
says "$work/quiet: no new checkpoint for 1s (--watch-patience)"
forget
"$ringtrain" eval --watch "$work/quiet" --data "$data" >"$work/watch.out" 2>"$work/watch.err" &
watch=$!
hear "$work/watch.err" "waiting for checkpoints"
kill -TERM "$watch"
ended 143 "$watch" "a watch that was asked to stop"

echo "what cannot be scored"
old=$(dirname "$0")/../data/format1
gzip -dc "$old/step-000000006.safetensors.gz" >"$work/quiet/step-000000006.safetensors"
code 74 "$ringtrain" eval --watch "$work/quiet" --data "$data" --watch-patience 1s
says "does not describe its network: skipped"
mkdir "$work/mixed"
cp "$work/classes/step-000000020.safetensors" "$work/mixed"
code 66 "$ringtrain" eval --watch "$work/mixed" --data "$work/none" --threads 1
says "$work/none"
code 64 "$ringtrain" eval --watch "$work/mixed" --model-dir "$work/classes.model" --data "$data"
says "--watch and --model-dir"
code 64 "$ringtrain" eval --model-dir "$work/classes.model" --data "$data" \
    --tensorboard-dir "$work/late"
says "--tensorboard-dir needs --watch"
code 64 "$ringtrain" eval --watch "$work/mixed" --data "$data" --watch-patience 5
says "--watch-patience: '5' is not a time"
: >"$work/file"
code 65 "$ringtrain" eval --watch "$work/file/x" --data "$data"
says "--watch"
