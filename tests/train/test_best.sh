#!/bin/sh
# Tests that the model of the best evaluation is kept next to the last one, survives a stop and a
# resume, and is reported at the end.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 96 32
train="$ringtrain train $common --data $data --seed 3 --schedule constant"

# best FILE METRIC most|least: prints "EPOCH VALUE" of the best evaluation in a run's metric lines.
best() {
    sed -n "s/^eval epoch=\([^ ]*\) .*\b$2=\([^ ]*\).*/\1 \2/p" "$1" |
        awk -v least="$([ "$3" = most ] || echo 1)" '
            NR == 1 || (least ? $2 < v : $2 > v) { e = $1; v = $2 }
            END { print e, v }'
}

# field FILE KEY: prints the key's value in a config.json.
field() { sed -n "s/.*\"$2\": \"*\([^\",]*\).*/\1/p" "$1"; }

# kept FOLDER METRIC most|least: FOLDER has the best model of the run with its lines in $work/lines.
kept() {
    checks=$((checks + 1))
    wanted=$(best "$work/lines" "$2" "$3")
    told=$(field "$1/config.json" value)
    [ "$(field "$1/config.json" metric)" = "$2" ] ||
        fail "$1: metric $(field "$1/config.json" metric)"
    awk -v a="${wanted#* }" -v b="$told" 'BEGIN { d = a - b; exit !(d < 1e-5 && d > -1e-5) }' ||
        fail "$1 is worth $told, the best is $wanted"
    says "best: epoch ${wanted% *} "
    # An evaluation of the model gives the score in its config.json.
    code 0 "$ringtrain" eval --model-dir "$1" --data "$data" --threads 1
    ! grep -q 'unknown keys' "$work/err" || fail "config.json has keys that nobody knows"
    again=$(sed -n "s/^eval .*\b$2=\([^ ]*\).*/\1/p" "$work/out")
    awk -v a="$again" -v b="$told" 'BEGIN { d = a - b; exit !(d < 1e-4 && d > -1e-4) }' ||
        fail "$1 scores $again, not $told"
}

echo "the best by top-1, and by loss"
# shellcheck disable=SC2086  # lists
code 0 $train --epochs 4 --lr 1.6 --model-dir "$work/m" --checkpoint-dir "$work/c"
cp "$work/out" "$work/lines"
says "its model is in $work/c/best"
kept "$work/c/best" top1 most
# shellcheck disable=SC2086
code 0 $train --epochs 4 --lr 1.6 --keep-best loss --publish best --model-dir "$work/ml" \
    --checkpoint-dir "$work/cl"
cp "$work/out" "$work/lines"
kept "$work/cl/best" loss least
cmp "$work/cl/best/model.safetensors" "$work/ml/model.safetensors" || fail "--publish best"
cmp "$work/cl/best/config.json" "$work/ml/config.json" || fail "--publish best: config.json"

echo "it survives a stop: the same model as in one run"
# shellcheck disable=SC2086
code 0 $train --epochs 4 --lr 1.6 --steps 30 --model-dir "$work/m2" --checkpoint-dir "$work/c2"
rm -rf "$work/c2/step-000000030.safetensors"
# shellcheck disable=SC2086
code 0 $train --epochs 4 --lr 1.6 --model-dir "$work/m2" --checkpoint-dir "$work/c2"
says "resumed from"
[ "$(field "$work/c2/best/config.json" value)" = "$(field "$work/c/best/config.json" value)" ] ||
    fail "another best"
same_weights "$work/c2/best/model.safetensors" "$work/c/best/model.safetensors" exact ""

echo "a new beginning does not compare with an earlier run"
# shellcheck disable=SC2086
code 0 $train --epochs 1 --lr 0 --resume none --model-dir "$work/m2" --checkpoint-dir "$work/c2"
cp "$work/out" "$work/lines"
kept "$work/c2/best" top1 most

echo "what cannot be"
# shellcheck disable=SC2086
code 64 $train --keep-best accuracy --model-dir "$work/m3" --checkpoint-dir "$work/c3"
says "an evaluation of resnet20 has no 'accuracy'; it has top1, top5, loss"
# shellcheck disable=SC2086
code 64 $train --publish best --keep-best none --model-dir "$work/m3" --checkpoint-dir "$work/c3"
# shellcheck disable=SC2086
code 64 $train --keep-best top1 --validation none --model-dir "$work/m3" --checkpoint-dir "$work/c3"
# shellcheck disable=SC2086
code 0 $train --epochs 1 --keep-best none --model-dir "$work/m3" --checkpoint-dir "$work/c3"
[ ! -e "$work/c3/best" ] || fail "--keep-best none keeps one"
for publish in last best; do
    # shellcheck disable=SC2086
    code 65 $train --epochs 1 --publish $publish --model-dir "$work/c4/best" \
        --checkpoint-dir "$work/c4"
    says "--model-dir: the best model is kept in $work/c4/best; give another folder"
done
cp -r "$work/c" "$work/c5"
printf x | dd of="$work/c5/best/model.safetensors" bs=1 seek=100 conv=notrunc 2>/dev/null
# shellcheck disable=SC2086
code 65 $train --epochs 5 --lr 1.6 --model-dir "$work/m5" --checkpoint-dir "$work/c5"
says "$work/c5/best/model.safetensors holds a model that ringtrain has not written, or a damaged one, which would be lost; move it away"
