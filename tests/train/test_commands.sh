#!/bin/sh
# Tests what all commands have in common: help and version, messages about what was written, errors
# for flags without an effect, and a failure where the output could not be written.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 16 8

echo "bash completes commands, flags and choices by the help"
if [ -x /bin/bash ]; then
    "$ringtrain" completion >"$work/completion" || fail "no script"
    # offered WORDS: $got is what bash offers for the last of them.
    offered() {
        checks=$((checks + 1))
        got=$(/bin/bash -c '. "$1"; program=$2; shift 2
            COMP_WORDS=("$program" "$@"); COMP_CWORD=$#
            _ringtrain "$program"; echo "${COMPREPLY[*]}"' - "$work/completion" "$ringtrain" "$@")
    }
    offered e
    [ "$got" = "eval export" ] || fail "commands: $got"
    offered train --chec
    [ "$got" = "--checkpoint-dir --checkpoint-every" ] || fail "flags: $got"
    offered train --model resnet1
    [ "$got" = "resnet18 resnet101 resnet152 resnet110" ] || fail "models: $got"
    offered train --recipe im
    [ "$got" = imagenet-90 ] || fail "recipes: $got"
    offered train --dtype b
    [ "$got" = bf16 ] || fail "choices: $got"
    offered train --resume ''
    [ "$got" = "auto none" ] || fail "choices beside a path: $got"
    offered train --data ''
    [ -z "$got" ] || fail "something in place of files: $got"
fi
code 64 "$ringtrain" completion now

echo "help lists the flags that this build can follow"
code 0 "$ringtrain" train --help
if "$ringtrain" version | grep -q 'backend cuda: not in this build'; then
    ! grep -q -e '--tf32' "$work/out" || fail "flags for CUDA"
    grep -q 'this build is without CUDA' "$work/out" || fail "no word of what is left out"
else
    grep -q -e '--tf32' "$work/out" || fail "no flags for CUDA"
fi
grep -q 'FinLoss' "$work/out" || fail "no word of the table's columns"

echo "help and version leave with 0, wherever they stand"
for command in train eval predict prepare inspect draw report version completion \
    "inspect coco" "prepare shapes"; do
    for word in -h --help --version; do
        # shellcheck disable=SC2086  # two words
        code 0 "$ringtrain" $command $word
        [ -s "$work/out" ] || fail "$command $word says nothing"
        [ ! -s "$work/err" ] || fail "$command $word: $(cat "$work/err")"
    done
done
for word in -h --help help --version version; do
    code 0 "$ringtrain" "$word"
done
# A recipe that cannot be read has no values to show.
echo '--lr abc' >"$work/bad.recipe"
code 0 "$ringtrain" train --recipe "$work/bad.recipe" --help
code 0 "$ringtrain" inspect --help
for what in 'inspect plan' 'inspect --cuda' 'driver, libraries and GPUs' 'inspect data' \
    'inspect coco'; do
    grep -q -e "$what" "$work/out" || fail "no word of $what in the help of inspect"
done
for words in --help "train --help" "version --help"; do
    # shellcheck disable=SC2086  # a list
    code 0 "$ringtrain" $words
    grep -qE '^ +66 ' "$work/out" || fail "$words says nothing of exit codes"
done
code 64 "$ringtrain"
grep -q '^usage: ' "$work/err" || fail "says nothing of commands"
code 64 "$ringtrain" teach
says "unknown command 'teach'"
code 64 "$ringtrain" trian
says "unknown command 'trian'; did you mean train?"
code 64 "$ringtrain" train --recipe imagnet-90
says "; did you mean imagenet-90?"
code 64 "$ringtrain" train --schedule cosin
says "; did you mean cosine?"
code 0 "$ringtrain" --version
grep -q '^ringtrain [0-9]' "$work/out" || fail "--version says no version"
code 0 "$ringtrain" train --epochs many --help

echo "prepare says what it made and where its folder goes"
code 64 "$ringtrain" prepare shapes --train 16 "$work/late"
says "comes first"
code 0 "$ringtrain" prepare shapes "$work/said" --train 16 --validation 8 --classes 4
grep -q "$work/said: 16 pictures to train on" "$work/out" || fail "did not say what it made"
code 64 "$ringtrain" prepare shapes "$work/late" --train 16 --validation 1 --classes 2
says "--validation: 1 is not between 2 and "
[ ! -e "$work/late" ] || fail "made a folder for nothing"
code 0 "$ringtrain" prepare shapes --coco "$work/coco" --train 6 --validation 3 --side 64
grep -q "$work/coco: 6 pictures to train on" "$work/out" || fail "did not say what it made"

echo "flags that do nothing are refused"
code 64 "$ringtrain" eval --model resnet50 --data "$data"
says "--model: this command has no such flag"
code 0 "$ringtrain" eval --help
! grep -q -e '--model NAME' -e synthetic "$work/out" || fail "eval's help offers what it refuses"
code 64 "$ringtrain" draw --coco "$work/coco" --out "$work/d" --least-score 0.3
says "--least-score"
code 64 "$ringtrain" draw --coco "$work/coco" --out "$work/d" --image 1 --count 3
says "--count"

echo "detections are drawn from a score on"
printf '[{"image_id":1,"category_id":3,"bbox":[1,1,20,20],"score":0.5},
    {"image_id":1,"category_id":3,"bbox":[9,9,20,20],"score":0.4}]' \
    >"$work/two.json"
code 0 "$ringtrain" draw --coco "$work/coco" --results "$work/two.json" --image 1 --out "$work/sure"
grep -q '  1 object$' "$work/out" || fail "not what is at least 0.5 sure"
code 0 "$ringtrain" draw --coco "$work/coco" --results "$work/two.json" --image 1 \
    --least-score 0.4 --out "$work/all"
grep -q '  2 objects$' "$work/out" || fail "not all objects"

echo "detections are drawn on the set that has their images"
printf '[{"image_id":VAL,"category_id":3,"bbox":[1,1,20,20],"score":0.9}]' >"$work/val.json"
number=$(grep -o '"id":[0-9]*,"file_name"' "$work/coco/annotations/instances_val.json" |
    head -n 1 | tr -dc 0-9)
sed -i "s/VAL/$number/" "$work/val.json"
code 0 "$ringtrain" draw --coco "$work/coco" --results "$work/val.json" --out "$work/ofval"
grep -q '  1 object$' "$work/out" || fail "drawn on other pictures"
code 0 "$ringtrain" draw --coco "$work/coco" --set val --count 1 --out "$work/val1"
code 66 "$ringtrain" draw --coco "$work/coco" --set vall --out "$work/vall"
says "no set 'vall' (--set); there are train, val"
printf '[{"image_id":999999,"category_id":3,"bbox":[1,1,20,20],"score":0.9}]' >"$work/none.json"
code 66 "$ringtrain" draw --coco "$work/coco" --results "$work/none.json" --out "$work/none"
says "none.json: it has images that are not in one set of $work/coco"

echo "eval tells the accuracy of each class"
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" train $common --data "$data" --steps 2 --checkpoint-dir "$work/cc" \
    --model-dir "$work/cm"
code 0 "$ringtrain" eval --model-dir "$work/cm" --data "$data" --threads 1
[ ! -e "$work/confused" ] || fail "written without --out"
code 0 "$ringtrain" eval --model-dir "$work/cm" --data "$data" --threads 1 --out "$work/confused"
says "confusion matrix: $work/confused/confusion.csv"
[ "$(awk -F, 'NR > 1 { for (i = 2; i <= NF; i++) n += $i } END { print n }' \
    "$work/confused/confusion.csv")" = "$(find "$data/val" -type f | wc -l)" ] ||
    fail "not all pictures: $(cat "$work/confused/confusion.csv")"
printf 'a,b\n' >"$work/confused/confusion.csv"
code 65 "$ringtrain" eval --model-dir "$work/cm" --data "$data" --threads 1 --out "$work/confused"
says "--out"
code 64 "$ringtrain" eval --watch "$work/cc" --data "$data" --threads 1 --out "$work/confused"
says "--out: with --watch it is for networks that detect"
code 0 "$ringtrain" eval --model-dir "$work/cm" --data "$data" --threads 1
[ "$(grep -c ' %  of ' "$work/out")" = "$(find "$data/val" -mindepth 1 -type d | wc -l)" ] ||
    fail "not a line for each class"
awk '/^eval / { sub(/.*top1=/, ""); top1 = $1; next }
     / %  of / { all += $4; right += $1 / 100 * $4 }
     END { exit all == 0 || right / all - top1 > 0.001 || top1 - right / all > 0.001 }' \
    "$work/out" || fail "classes do not add up to top1: $(cat "$work/out")"

echo "a picture that is not there is named and costs nobody the others"
cp -r "$work/coco" "$work/holey"
rm "$work/holey/train/0000002.jpg"
code 66 "$ringtrain" draw --coco "$work/holey" --out "$work/holey.drawn" --count 3
says "0000002.jpg"
says "1 of 3 pictures cannot be used"
[ "$(find "$work/holey.drawn" -name '*.jpg' | wc -l)" = 2 ] || fail "others are not drawn"

echo "a full standard output is no success"
printf '[{"image_id":1,"category_id":3,"bbox":[1,1,20,20],"score":0.5}]' >"$work/results.json"
truth=$work/coco/annotations/instances_train.json
# full COMMAND...: with standard output on a full device it fails with 65 and an error message.
full() {
    got=0
    "$ringtrain" "$@" >/dev/full 2>"$work/err" || got=$?
    [ "$got" = 65 ] || {
        cat "$work/err" >&2
        fail "exit code $got with a full standard output: $*"
    }
    says "writing to standard output"
}
code 0 "$ringtrain" eval --coco "$truth" --results "$work/results.json"
full eval --coco "$truth" --results "$work/results.json"
full inspect coco "$work/coco"
full inspect plan --model resnet20 --batch-size 2
full draw --coco "$work/coco" --out "$work/drawn" --count 1
full prepare shapes "$work/unheard" --train 16 --validation 8
full prepare shapes --coco "$work/unheard.coco" --train 4 --validation 2
full version
full train --help
full --help
# shellcheck disable=SC2086  # a list
full train $common --data "$data" --steps 2 --checkpoint-dir "$work/c" --model-dir "$work/m"

echo "closed standard descriptors: nothing that is printed gets into a file of the run"
# closed CODE REDIRECTIONS: a training that opens files of its own, with these redirections, exits
# with CODE and writes no line of its output into them.
closed() {
    wanted=$1 got=0
    # shellcheck disable=SC2086  # a list
    sh -c "exec \"\$@\" $2" sh "$ringtrain" train $common --data synthetic --validation none \
        --steps 2 --report-every 1 --checkpoint-dir "$work/closed.c" \
        --model-dir "$work/closed.m" --tensorboard-dir "$work/closed.tb" \
        >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$wanted" ] || { cat "$work/err" >&2; fail "exit code $got with $2"; }
    ! find "$work" -path "*/closed.*" -type f -exec \
        grep -lE 'train step=|standard output' {} + | grep -q . ||
        fail "lines in a file of the run with $2"
}
closed 65 '<&- >&- 2>&-'
closed 65 '>&-'
says "standard output is closed"
closed 0 '<&- 2>&-'
grep -q 'train step=2 ' "$work/out" || fail "no metrics"
closed 0 '<&- >/dev/null 2>&-'

echo "plans are printed of networks that nobody has data for, and of GPUs that are not there"
code 0 "$ringtrain" inspect plan --model maskrcnn_tiny --batch-size 1 --canvases 64x64 --backend ref
grep -q '^memory: weights .* MiB in all$' "$work/out" || fail "no memory"
! grep -q '^canvas of\|^launches' "$work/out" || fail "tells of canvases or launches that are none"
code 0 "$ringtrain" inspect plan --model maskrcnn_tiny --batch-size 1 --canvases 64x96,96x64 \
    --backend ref
[ "$(grep -c '^canvas of 64x96 px$\|^canvas of 96x64 px$' "$work/out")" = 2 ] ||
    fail "not a plan for each canvas"
code 64 "$ringtrain" inspect plan --model maskrcnn_tiny --canvases 64x7
says "--canvases"
device=$(dirname "$0")/../../trainer/backend/cuda/devices/h100.json
code 64 "$ringtrain" inspect plan --device "$device" --backend cpu
says "--device"
if "$ringtrain" version | grep -q '^backend cuda: CUDA .*cuDNN [0-9]'; then
    code 0 "$ringtrain" inspect plan --device "$device" --model maskrcnn_tiny --batch-size 2 \
        --canvases 64x64 --dtype f16 --launch-overlap on
    grep -q '^memory: weights' "$work/out" || fail "no memory on a device"
    grep -qE \
      '^launches: [1-9][0-9]* own kernels, [1-9][0-9]* of them may .* [1-9][0-9]* calls of cuDNN' \
      "$work/out" || fail "no launches"
    grep -qE '^ +2 +4 +0 +0  roi_align$' "$work/out" || fail "no launches of RoIAlign"
    code 65 "$ringtrain" inspect plan --device "$truth"
    says "$truth"
else
    code 72 "$ringtrain" inspect plan --device "$device"
    says "no backend cuda"
fi

echo "what this command has no flag for is not answered with advice for trainings"
code 64 "$ringtrain" prepare shapes "$work/unheard" --images 16
says "unknown flag --images"
! grep -q -e '--data' "$work/err" || fail "advice for trainings: $(cat "$work/err")"
code 64 "$ringtrain" train --images "$work"
says "beside the annotations; see --data"

echo "places that take nothing are found before the data is read"
for place in --model-dir --checkpoint-dir; do
    code 65 "$ringtrain" train --model resnet20 --data synthetic --steps 1 \
        --model-dir "$work/taken.m" --checkpoint-dir "$work/taken.c" "$place" /proc/new
    says "$place /proc/new: nothing can be written in /proc; give a folder that this user can write"
    ! grep -q 'training images' "$work/err" || fail "$place: found after the data"
    [ ! -e "$work/taken.m" ] && [ ! -e "$work/taken.c" ] || fail "$place: something was made"
done

echo "places that take nothing are named as they were given, and are no internal error"
code 65 "$ringtrain" eval --coco "$truth" --results "$work/results.json" \
    --json "$work/nowhere/x.json"
says "$work/nowhere"
! grep -q 'x\.json\.' "$work/err" || fail "names a file that nobody gave"
[ ! -s "$work/out" ] || fail "found after the work"
code 65 "$ringtrain" eval --coco "$truth" --results "$work/results.json" --index "$work/nowhere/x"
says "$work/nowhere"
code 65 "$ringtrain" eval --coco "$truth" --results "$work/results.json" --arrays "$truth/below"
says "$truth"
code 65 "$ringtrain" draw --coco "$work/coco" --out "$truth/below"
says "$truth"
