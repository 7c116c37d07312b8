#!/bin/sh
# Tests that a training does not start anew, and writes nothing, where checkpoints cannot be read or
# are damaged.
# shellcheck disable=SC2154,SC2034  # variables of and for lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 64 8
kept=$work/kept
flags="--model resnet20 --threads 1 --data-threads 1 --log metrics --data $data
    --validation none --batch-size 16 --checkpoint-dir $kept --model-dir $work/model"
newest=$kept/step-000000008.safetensors

# train FLAGS...: runs a training; a command for `code`.
train() {
    # shellcheck disable=SC2086  # a list
    "$ringtrain" train $flags "$@"
}

folder() {
    (cd "$kept" && cksum ./step-* 2>/dev/null | sort)
}

# refused CODE COMMAND...: the command ends with CODE, without a step, and leaves the folder
# unchanged.
refused() {
    folder >"$work/before"
    code "$@"
    folder | cmp - "$work/before" || fail "other files: $(ls "$kept")"
    [ -z "$(losses "$work/out")" ] || fail "trained"
    [ ! -e "$kept/.ringtrain.lock" ] || fail "the lock stays"
}

echo "the beginning is logged"
code 0 train --epochs 2
says "starting at step 0: $kept holds no checkpoint"

echo "one that the system does not let us read: 65, its name, and what to do"
ln -s step-000000099.safetensors "$kept/step-000000099.safetensors"
for resume in auto none "$newest"; do
    refused 65 train --epochs 5 --resume "$resume"
    says "$kept/step-000000099.safetensors: cannot be read: Too many levels of symbolic links; nothing was written"
    says "give another --checkpoint-dir"
done
ln -sf "$work/not/mounted" "$kept/step-000000099.safetensors"
refused 65 train --epochs 5
says "cannot be read: No such file or directory"
rm "$kept/step-000000099.safetensors"

# injected ERRNO CALL FILE TEXT: a training is refused if every CALL on FILE fails with ERRNO; it
# prints TEXT.
injected() {
    # shellcheck disable=SC2086  # a list
    refused 65 strace -f -qq -o /dev/null -P "$3" -e trace="$2" -e inject="$2:error=$1" \
        "$ringtrain" train $flags --epochs 5
    says "$3"
    says "$4"
    says "nothing was written"
}
if strace -qq -o /dev/null true 2>/dev/null; then
    echo "the same of the folder and of both files, whatever the errno"
    for failure in "EIO Input/output error" "ESTALE Stale file handle" \
        "EMFILE Too many open files" "ENOMEM Cannot allocate memory"; do
        errno=${failure%% *} words=${failure#* }
        injected "$errno" openat "$kept" "$words"
        injected "$errno" openat "$newest" "$words"
        injected "$errno" pread64 "$newest" "$words"
        injected "$errno" pread64 "$kept/step-000000004.safetensors" "$words"
        injected "$errno" getdents64 "$kept" "$words"
    done
else
    skip_part "errors of the system: no strace here"
fi

if can_mpirun; then
    echo "no rank begins where the first one cannot read"
    ln -s step-000000099.safetensors "$kept/step-000000099.safetensors"
    folder >"$work/before"
    patience=1 # the other rank waits for this one until mpirun ends it
    # shellcheck disable=SC2086  # a list
    recorded_ranks 2 "$ringtrain" train $flags --batch-size 8 --epochs 5
    left >"$work/told"
    grep -q ' 65$' "$work/told" || fail "not 65: $(cat "$work/told" "$work/err")"
    folder | cmp - "$work/before" || fail "other files: $(ls "$kept")"
    [ -z "$(losses "$work/out")" ] || fail "trained"
    rm "$kept/step-000000099.safetensors"
fi

echo "one damaged: the one before it; all damaged: 66, unless a beginning is asked for"
damage() {
    printf x | dd of="$1" bs=1 seek=5000 conv=notrunc 2>/dev/null
}
damage "$newest"
code 0 train --epochs 2
says "resumed from $kept/step-000000004.safetensors"
damage "$newest"
damage "$kept/step-000000004.safetensors"
refused 66 train --epochs 5
says "$kept: none of its checkpoints is valid"
says "start at step 0 with --resume none"
code 0 train --epochs 1 --resume none
says "starting at step 0: --resume none"

echo \
    "a model's description that was changed: 66; without its checksum it is taken, with a warning"
config=$work/model/config.json
score() {
    code "$1" "$ringtrain" eval --model-dir "$work/model" --data "$data" --threads 1
}
score 0
! grep -q "checksum" "$work/err" || fail "a checksum that agrees is spoken of"
sed -i 's/0\.485/4.485/' "$config"
score 66
says "$config: does not match its checksum"
sed -i -e '/"checksum"/d' -e 's/"epochs":/"epocs":/' "$config"
score 0
says "$config has no checksum"
says "$config: ignoring unknown keys: epocs"

echo "the same of a model that would be written over"
rm "$work/model/model.safetensors"
ln -s model.safetensors "$work/model/model.safetensors"
refused 65 train --epochs 5
says "model-dir: $work/model/model.safetensors: cannot be examined"
