#!/bin/sh
# Tests that each kind of bad input ends a training at once with a clear error and its documented
# exit code.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 48 16
train="$ringtrain train $common --steps 2 --resume none
    --checkpoint-dir $work/c --model-dir $work/m"

# refused CODE WORDS FLAGS...: a training with these flags fails with this code and message.
refused() {
    wanted=$1 words=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    code "$wanted" timeout 300 $train "$@"
    says "$words"
}

echo "flags"
refused 64 "unknown flag --bach-size; did you mean --batch-size?" --bach-size 3
refused 64 "--epochs" --epochs many
refused 64 "--epochs needs a value" --epochs
refused 64 "expected one of resnet18" --data synthetic --model resnet19
code 64 "$ringtrain" trian
says "unknown command 'trian'; did you mean train?"
code 64 "$ringtrain" inspect dta "$data"
says "did you mean data?"
code 64 "$ringtrain" prepare shpes "$work/shapes"
says "did you mean shapes?"
code 64 "$ringtrain" docs trian
says "did you mean train?"
refused 64 "did you mean resnet18?" --data synthetic --model resnt18
refused 64 "did you mean coco-1x?" --data synthetic --recipe coco-2x
refused 66 "did you mean $data?" --data "${data%?}"
code 0 "$ringtrain" train --help
grep -q -- --label-smoothing "$work/out" || fail "help without flags"
grep -q ' 143 ' "$work/out" || fail "help without exit codes"

echo "flags, places and devices are looked at before the data"
"$ringtrain" version | grep -q 'backend cuda: not' &&
    refused 72 "--backend cuda: this build has none" --data "$work/none" --backend cuda
refused 64 "--dtype f16 needs --backend cuda" --data "$work/none" --backend ref --dtype f16
refused 64 "--image-size 7: " --data "$data" --image-size 7
! grep -q 'looking for pictures' "$work/err" || fail "--image-size 7: after the data"
# misspelt WORDS FLAGS...: refused with these words before either set is opened.
misspelt() {
    words=$1
    shift
    refused 64 "$words" --data "$data" "$@"
    ! grep -q 'looking for pictures' "$work/err" || fail "$*: after the data"
}
misspelt "--color: 'torchvison:0.4,0.4,0.4,0.1'" --color torchvison:0.4,0.4,0.4,0.1
misspelt "--blur: '5:2'" --blur 5:2
misspelt "--progressive: " --progressive 16x2
misspelt "--mean: '1,2'" --mean 1,2 --std 1,1,1
misspelt "--mean data with --std 1,1,1" --mean data --std 1,1,1
misspelt "--cache-side: there is no cache" --cache-side 64
misspelt "--milestones: 'two' is not an epoch" --schedule milestones --milestones 1,two
misspelt "--milestones needs --schedule milestones" --milestones 1
misspelt "--lr-end 9 is above the peak" --lr-end 9 --schedule cosine
misspelt "--warmup-lr 0.1 both say where" --warmup-lr 0.1 --warmup-from 0.1 --warmup-steps 1
refused 66 "--init" --data "$data" --init "$work/none.safetensors"
! grep -q 'looking for pictures' "$work/err" || fail "--init: after the data"
mkdir -p "$work/thing" && : >"$work/thing/file"
for flag in model-dir checkpoint-dir log-dir tensorboard-dir; do
    refused 65 "--$flag: $work/thing/file is not a folder" --data "$data" \
        "--$flag" "$work/thing/file/below/it"
    ! grep -q 'looking for pictures' "$work/err" || fail "--$flag: after the data"
done

echo "data"
refused 66 "no training data"
refused 66 "training data: $work/none: No such file" --data "$work/none"
mkdir -p "$work/empty" "$work/classes/a" "$work/classes/b"
refused 66 "$work/empty" --data "$work/empty"
refused 66 "$work/classes" --data "$work/classes"
refused 66 "batch" --data "$data" --batch-size 64
cp -r "$data" "$work/cut"
find "$work/cut/train" -name '*.jpg' | sort | while read -r file; do
    head -c 300 "$file" >"$work/part" && cp "$work/part" "$file"
done
refused 66 "$work/cut/train" --data "$work/cut"

mkdir -p "$work/latin/train"
cp -r "$data/train/"* "$work/latin/train"
mv "$work/latin/train/circle" "$work/latin/train/$(printf 'b\351')"
refused 66 "not UTF-8" --data "$work/latin"

echo "folders whose names are those of parts, or of classes"
# named CLASSES...: makes a folder of these classes, each with pictures.
named() {
    rm -rf "$work/named"
    for name in "$@"; do
        mkdir -p "$work/named/$name"
        cp "$data/train/circle/"* "$work/named/$name"
    done
}
# learnt WORDS: a training on that folder succeeds, and these are the model's classes.
learnt() {
    # shellcheck disable=SC2086  # a list
    code 0 timeout 300 $train --data "$work/named"
    tr -d ' \n' <"$work/m/config.json" | grep -qF "\"classes\":$1" ||
        fail "other classes than $1 were learnt"
    rm -rf "$work/m"
}
named bus test train
learnt '["bus","test","train"]'
says "no validation data: nothing is evaluated"
named bus/a bus/b train/2019 train/2020
learnt '["bus","train"]'
says "train/ taken for a class"
named train/a train/b valid/a valid/b test/a test/b
learnt '["a","b"]'
says "looking for pictures in $work/named/valid"
! grep -q 'named/test' "$work/err" || fail "evaluated on test/ beside valid/"
named a b val/a val/b
refused 66 "$work/named: two readings" --data "$work/named"
named val/a val/b
refused 66 "has val/ but no train/" --data "$work/named"

echo "places to write to"
: >"$work/file"
refused 65 "--model-dir" --data "$data" --model-dir "$work/file"
refused 65 "--checkpoint-dir" --data "$data" --checkpoint-dir "$work/file/below"

echo "memory"
# A training that needs too much memory is refused before it allocates any, and the error names a
# batch size that fits. limited KIB FLAGS...: trains with a limited address space.
limited() {
    # shellcheck disable=SC2086,SC3045  # a list; shells have it
    (ulimit -v "$1" && shift &&
        exec timeout 300 $train --data synthetic --validation none --threads 1 "$@")
}
code 65 limited 500000 --synthetic-images 5000 --batch-size 4096
says "MiB needed for --batch-size 4096"
says "(the limit on a process's address space (ulimit -v)): --batch-size "
fits=$(sed -n 's/.*: --batch-size \([0-9]*\) fits.*/\1/p' "$work/err")
[ "$fits" -gt 1 ] || fail "--batch-size $fits fits"
code 0 limited 500000 --synthetic-images 5000 --batch-size "$fits" --steps 1 \
    --model-dir "$work/limited"
code 65 limited 600000 --model resnet50 --batch-size 4
says "not even --batch-size 1 fits"
refused 65 "use a smaller batch" --data synthetic --synthetic-images 70000 --model resnet50 \
    --image-size 224 --batch-size 65536

echo "weights and checkpoints"
refused 66 "--init" --data synthetic --init "$work/none.safetensors"
printf 'garbage' >"$work/bad.safetensors"
refused 66 "bad.safetensors" --data synthetic --init "$work/bad.safetensors"
# Inception's list of names has no body, so that a file without any of them is no body alone.
gzip -dc "$(dirname "$0")/../data/format1/model.safetensors.gz" >"$work/resnet20.safetensors"
refused 66 "484 tensors are missing" --data synthetic --model inception_v3 --image-size 299 \
    --init "$work/resnet20.safetensors"
refused 66 "bad.safetensors" --data synthetic --resume "$work/bad.safetensors"
code 66 "$ringtrain" eval --model-dir "$work/none" --data "$data"
printf 'PK\003\004 and what torch.save writes' >"$work/w.pth"
refused 66 "--init: $work/w.pth: a PyTorch file, not safetensors; convert it: python3 -c" \
    --data synthetic --init "$work/w.pth"
! grep -q 'data threads' "$work/err" || fail "compiled before that"

echo "batch norms that see one value a channel"
refused 64 "one value a channel" --data synthetic --model resnet18 --image-size 32 --batch-size 1

echo "classes: one alone, others, and fewer to evaluate on"
named daisy
refused 66 "has one class folder, daisy; a classification network needs two or more" \
    --data "$work/named"
named train/a train/b train/c val/a val/c
learnt '["a","b","c"]'
says "the validation data: no pictures of 1 of the 3 classes: 'b'"
named train/a train/b val/a val/d
refused 66 "class 'd' of the validation data is not a class of the training data, which has 2" \
    --data "$work/named"

echo "fewer threads than asked for"
# shellcheck disable=SC2086  # a list
code 0 env OMP_THREAD_LIMIT=1 timeout 300 $train --data synthetic --validation none --threads 2 \
    --model-dir "$work/limited"
says "OpenMP gives 1 of 2 threads (OMP_THREAD_LIMIT is 1): running on 1"

echo "a loss that is not finite"
refused 65 "diverged" --data "$data" --lr 1e6 --lr-batch 0 --steps 100 --validation none
refused 65 "values are not finite" --data "$data" --lr 1e6 --lr-batch 0 --steps 12 --validation none

echo "what is not finite is no checkpoint: what comes after begins before it"
# shellcheck disable=SC2086  # a list
code 65 $train --data "$data" --lr 1e6 --lr-batch 0 --steps 12 --checkpoint-every 1 \
    --validation none --checkpoint-dir "$work/diverged" --model-dir "$work/none"
says "no checkpoint of step 12: "
says "those before it stay"
[ ! -e "$work/diverged/step-000000012.safetensors" ] || fail "a checkpoint of what has diverged"

# on_two A B: trains with rank 0 on the data set A and rank 1 on B.
on_two() {
    # shellcheck disable=SC2016,SC2086  # for the ranks' own shells; a list
    recorded_ranks 2 sh -c '
        [ "$OMPI_COMM_WORLD_RANK" = 0 ] && SM_CHANNEL_TRAIN=$1 || SM_CHANNEL_TRAIN=$2
        shift 2
        export SM_CHANNEL_TRAIN
        exec "$@"' - "$1" "$2" $train
}

if can_mpirun; then
    echo "two hosts with other files; one rank that fails"
    cp -r "$data" "$work/second"
    rm "$(find "$work/second/train" -name '*.jpg' | sort | head -n 1)"
    on_two "$data/train" "$work/second/train"
    codes 66 2
    says "the training data differs between hosts"
    says "(rank 1)"
    # Rank 0 waits for rank 1, which has exited: mpirun ends rank 0, with SIGKILL or, if it does not
    # handle a stop yet, with SIGTERM.
    # shellcheck disable=SC2034
    patience=1
    on_two "$data/train" "$work/nowhere"
    [ "$(cat "$work/code.0" 2>/dev/null)" != 143 ] || rm "$work/code.0"
    codes 66 1
    says "nowhere: No such file"
fi

echo "nothing was left behind that looks like a result"
[ ! -e "$work/m/model.safetensors" ] || fail "published a model"
