#!/bin/sh
# Tests that pictures that cannot be used or are damaged are named and counted and, where
# --bad-samples asks for it, skipped without an effect on the weights, on any number of ranks.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 64 32

pictures() {
    find "$1" -name '*.jpg' | sort
}

# cut_short SET NUMBER...: truncates these pictures of the set to 400 bytes.
cut_short() {
    set=$1
    shift
    for number; do
        file=$(pictures "$set" | sed -n "${number}p")
        head -c 400 "$file" >"$work/part" && cp "$work/part" "$file"
    done
}

# damage SET NUMBER: puts an end marker into the middle of a picture, which is still decoded.
damage() {
    file=$(pictures "$1" | sed -n "${2}p")
    size=$(wc -c <"$file")
    printf '\377\331' | dd of="$file" bs=1 seek=$((size * 3 / 4)) conv=notrunc 2>/dev/null
}

# train CODE NAME FLAGS...: trains in one process, which has to exit with CODE.
train() {
    wanted=$1 name=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    code "$wanted" "$ringtrain" train $common --data "$data" --epochs 2 --report-every 1 \
        --resume none --checkpoint-dir "$work/$name.checkpoints" --model-dir "$work/$name" "$@"
}

# reported WORDS: the last training line contains them.
reported() {
    grep '^train ' "$work/out" | tail -n 1 | grep -q "$1" || {
        cat "$work/out"
        fail "not reported: $1"
    }
}

echo "a sound set says nothing of faults"
train 0 sound
! grep -qE 'damaged|bad_files|left out|skipped(:|=[^0])' "$work/out" "$work/err" ||
    fail "faults in a sound set"

cut_short "$data/train" 3 20 40
damage "$data/train" 10
cut_short "$data/val" 5
bad=$(pictures "$data/train" | sed -n '3p;20p;40p')

echo "a bad picture ends the run; those read ahead are named, too"
train 66 fail --batch-size 32 --validation none
for file in $bad; do
    says "cannot be used: $file: JPEG: truncated"
done
says "--bad-samples"

echo "bad pictures are skipped, each named once, and counted"
train 0 skip --bad-samples skip
for file in $bad; do
    [ "$(grep -c "skipped: $file: JPEG: truncated" "$work/err")" = 1 ] ||
        fail "$file not named once"
done
reported 'bad_files=3 damaged_files=1'
grep '^eval ' "$work/out" | tail -n 1 | grep -q 'images=31 bad_files=1' ||
    fail "images= counts others"
says "of 64 files 3 skipped: "
says "of 64 files 1 damaged, decoded as far as possible: "
says "of 32 files 1 skipped: "
train 0 four --bad-samples skip --data-threads 4
same_weights "$work/skip/model.safetensors" "$work/four/model.safetensors" exact "" \
    .num_batches_tracked

echo "at most so many"
train 0 three --bad-samples 3
train 66 two --bad-samples 2
says "cannot be used"
train 64 word --bad-samples some
says "--bad-samples"

echo "a link that leads nowhere is a bad picture like another"
cp -r "$data/train" "$work/train"
file=$(pictures "$data/train" | sed -n 20p)
ln -sf /nowhere "$file"
train 0 link --bad-samples skip
says "skipped: $file: "
same_weights "$work/skip/model.safetensors" "$work/link/model.safetensors" exact "" \
    .num_batches_tracked
code 66 "$ringtrain" inspect data "$data/train"
grep -q "bad: $file: " "$work/out" || fail "inspect does not name it"
rm "$file" && cp "$work/train${file#"$data/train"}" "$file"

echo "evaluation"
code 66 "$ringtrain" eval --model-dir "$work/skip" --data "$data"
says "$(pictures "$data/val" | sed -n 5p)"
code 0 "$ringtrain" eval --model-dir "$work/skip" --data "$data" --bad-samples 1
grep -q 'images=31 bad_files=1' "$work/out" || fail "images= counts others"

cp -r "$data/val" "$work/none"
# shellcheck disable=SC2046  # a list of numbers
cut_short "$work/none" $(seq 1 32)
code 66 "$ringtrain" eval --model-dir "$work/skip" --data "$work/none" --bad-samples skip
says "$work/none: none of 32 pictures can be scored"

echo "a step of which no picture can be used"
mkdir "$work/empty"
cp -r "$data/train" "$data/val" "$work/empty"
# shellcheck disable=SC2046  # a list of numbers
cut_short "$work/empty/train" $(seq 1 64)
# shellcheck disable=SC2086  # a list
code 66 "$ringtrain" train $common --data "$work/empty" --epochs 2 --report-every 1 --resume none \
    --validation none --checkpoint-dir "$work/empty.checkpoints" --model-dir "$work/empty.model" \
    --bad-samples skip
says "$work/empty/train: none of the 8 pictures of step 1 can be used"
! grep -q diverged "$work/err" || fail "a divergence of no pictures"
[ ! -e "$work/empty.model/model.safetensors" ] || fail "published a model of nothing"
find "$work/empty.checkpoints" -name '*.safetensors' | grep -q . || fail "no checkpoint"

echo "a skipped picture teaches a detector nothing: half the gradients, half the rate without it"
# detect SET LR ACCUMULATE: trains a detector on SET for one step, with one picture per batch.
detect() {
    # shellcheck disable=SC2086  # a list
    code 0 "$ringtrain" train --model maskrcnn_tiny --data "$work/$1" --validation none \
        --batch-size 1 --steps 1 --threads 1 --data-threads 1 --lr-batch 0 --warmup-steps 0 \
        --weight-decay 0 --clip-norm 0 --flip false --lr "$2" --accumulate "$3" \
        --bad-samples skip --resume none --log metrics --report-every 1 \
        --checkpoint-dir "$work/$1.checkpoints" --model-dir "$work/$1.model"
}
"$ringtrain" prepare shapes --coco "$work/one" --train 1 --validation 1 >/dev/null || fail "no set"
"$ringtrain" prepare shapes --coco "$work/two" --train 2 --validation 1 >/dev/null || fail "no set"
first=$(find "$work/one/train" -name '*.jpg')
cmp -s "$first" "$work/two/train/${first##*/}" || fail "another first picture"
head -c 400 "$first" >"$work/part"
cp "$work/part" "$(pictures "$work/two/train" | sed -n 2p)"
detect two 0.02 2
reported 'bad_files=1'
detect one 0.01 1
same_weights "$work/two.model/model.safetensors" "$work/one.model/model.safetensors" exact "" \
    .running_ .num_batches_tracked

if can_mpirun; then
    # as NAME FLAGS...: prints the command that the ranks run.
    as() {
        name=$1
        shift
        echo "$ringtrain train $common --data $data --validation none --epochs 2 --resume none
            --report-every 1
            --model-dir $work/$name --checkpoint-dir $work/$name.checkpoints $*"
    }
    # shellcheck disable=SC2046  # lists
    {
        echo "two ranks skip what one rank skips: the same weights to the bit, the same count"
        code 0 ranks 2 $(as pair --bad-samples 3)
        reported 'bad_files=3 damaged_files=1'
        says "of 64 files 3 skipped: "
        code 0 ranks 1 $(as one --bad-samples 3 --accumulate 2)
        same_weights "$work/pair/model.safetensors" "$work/one/model.safetensors" exact "" \
            .running_ .num_batches_tracked

        echo "the limit is one over all ranks: three bad pictures on two ranks do not pass for two"
        recorded_ranks 2 $(as over --bad-samples 2)
        codes 66 2
        says "cannot be used"
        [ ! -e "$work/over/model.safetensors" ] || fail "published a model"
    }
fi
