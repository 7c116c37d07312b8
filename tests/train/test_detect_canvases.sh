#!/bin/sh
# Tests canvases: landscape and portrait pictures have canvases of their own, and smaller ones where
# sizes are drawn. A run is stopped within an epoch and resumed, two ranks train, and pictures that
# fill no step are reported.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --train 21 --validation 5 --side 96 --long-side 144 \
    >"$work/out" || fail "no set"
flags="--model maskrcnn_tiny --short-side 96 --long-side 144 --batch-size 2 --threads 1
    --data-threads 2 --log metrics --report-every 1 --warmup-steps 2 --epochs 2"

# silent WORDS: the last program's stderr does not contain the words.
silent() {
    ! grep -qF -e "$1" "$work/err" || {
        cat "$work/err" >&2
        fail "said: $1"
    }
}

echo "cut inside an epoch and resumed: the same bits"
train whole --steps 7
silent "never used for training"
grep -qE '^eval .* images=5 ' "$work/whole.out" || fail "no scores of all pictures"
train parts --steps 3
train parts --steps 7
says "resumed from $work/parts/step-000000003.safetensors"
silent "canvas-plan"
same_weights "$work/whole/step-000000007.safetensors" "$work/parts/step-000000007.safetensors" \
    exact ""
[ "$(scores "$work/whole.out")" = "$(scores "$work/parts.out")" ] || fail "other scores"

echo "the same canvases by hand are the same run; one canvas for all is another"
train hand --steps 7 --canvases 96x160,160x96
same_weights "$work/whole/step-000000007.safetensors" "$work/hand/step-000000007.safetensors" \
    exact ""
train one --steps 7 --canvases 160x160
other_weights "$work/whole/step-000000007.safetensors" "$work/one/step-000000007.safetensors" ""

echo "sizes that are drawn choose among canvases in every epoch: cut inside the second one the same bits, on fewer canvases others"
drawn="--lr 0.0005 --schedule constant --short-low 32 --short-step 32"
four="$drawn --canvases 96x160,160x96,64x96,96x64"
# shellcheck disable=SC2086  # lists
{
    train drawn --steps 13 $four
    train cut --steps 11 $four
    train cut --steps 13 $four
    says "resumed from $work/cut/step-000000011.safetensors"
    train two --steps 13 $drawn --canvases 96x160,160x96
}
same_weights "$work/drawn/step-000000013.safetensors" "$work/cut/step-000000013.safetensors" \
    exact ""
other_weights "$work/drawn/step-000000013.safetensors" "$work/two/step-000000013.safetensors" ""

echo "pictures that fill no step are reported; canvases that the trainer chooses have none"
train few --steps 1 --accumulate 5 --canvases 96x160,160x96
says "8 pictures are never used for training: a step takes 10 of one canvas, and there are 8 on 160x96 (--canvases)"
train joined --steps 1 --accumulate 5
silent "never used for training"

echo "another set to score on may change the canvases, and with them what a step takes: a run that goes on says so"
"$ringtrain" prepare shapes --coco "$work/squares" --train 8 --validation 2 --side 96 \
    >"$work/out" || fail "no set"
wide=$set_dir
set_dir=$work/squares
train moved --steps 2
train moved --steps 4 --validation "$wide"
says "canvas-plan 96x96,"
says "(was 96x96)"
set_dir=$wide

if can_mpirun; then
    # run NAME RANKS ACCUMULATE: trains with this many ranks and parts of each batch.
    run() {
        # shellcheck disable=SC2086  # a list
        ranks "$2" "$ringtrain" train $flags --data "$set_dir" --steps 3 --accumulate "$3" \
            --model-dir "$work/$1.model" --checkpoint-dir "$work/$1" \
            >"$work/$1.out" 2>"$work/err" || { cat "$work/err"; fail "$1"; }
    }
    echo "two ranks do what one does in two parts, canvas by canvas"
    run pair 2 1
    run single 1 2
    same_weights "$work/pair.model/model.safetensors" "$work/single.model/model.safetensors" \
        exact "" .running_ .num_batches_tracked
    flags="$flags $four"
    run pair_drawn 2 1
    run single_drawn 1 2
    same_weights "$work/pair_drawn.model/model.safetensors" \
        "$work/single_drawn.model/model.safetensors" exact "" .running_ .num_batches_tracked
fi
