#!/bin/sh
# Tests that the commands of docs/trainer/walk.md run as they stand, from an archive to a report:
# all that need no container, server or package, in the order of the page, with a small archive.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$bin/ringmaster" ] || skip "this build has no ringmaster"
PATH=$(cd "$bin" && pwd):$PATH
export PATH
# The job is alone on a network where that is possible, and has ports of its own elsewhere.
# shellcheck disable=SC2016  # for the shell on that network
alone='ip link set lo up && exec "$@"'
if unshare --net sh -c "$alone" - true 2>/dev/null; then
    set -- unshare --net sh -c "$alone" -
fi
without_leaks
unset RINGMASTER_BIN RINGMASTER_DATA # settings that a job would refuse
export RINGMASTER_PORT="$port" SAGEMAKER_BASE_DIR="$work/opt"
mkdir "$work/opt" "$work/here" "$work/blocks" "$work/flower_photos"

"$ringtrain" prepare shapes "$data" --train 250 --validation 5 --classes 5 --side 40 >/dev/null
names="daisy dandelion rose sunflower tulip"
for folder in "$data/train"/*; do
    mv "$folder" "$work/flower_photos/${names%% *}"
    names=${names#* }
done
tar -C "$work" -czf "$work/here/flower_photos.tgz" flower_photos

cd "$work/here"
python3 "$top/tests/docs/walk.py" "$work/blocks" >"$work/list" || fail "no blocks"
[ "$(wc -l <"$work/list")" -ge 6 ] || fail "only $(wc -l <"$work/list") blocks of the page were run"
while read -r block; do
    echo "line $(basename "$block" .sh): $(head -n 1 "$block")"
    code 0 "$@" sh -eu "$block" </dev/null
    cat "$work/out" "$work/err" >>"$work/all"
done <"$work/list"

echo "and what they leave is what the page says"
cp "$work/all" "$work/out"
prints '^flowers: 250 pictures in 2 shards of the format tfrecord'
prints 'in order$'
prints 'ranks: 3;'
prints 'all 3 ranks ended with 0'
prints 'Step  Epoch    Top-1 %       Loss  Checkpoint (UTC)'
for file in sheet.png out/model/model.safetensors out/algo-1/data/report.html \
    out/checkpoints/best/model.safetensors compared.html files/validation/daisy seen; do
    checks=$((checks + 1))
    [ -s "$file" ] || fail "no $file"
done
for run in train eval watch; do
    checks=$((checks + 1))
    ls "out/tensorboard/$run"/*tfevents* >/dev/null || fail "no events of the run $run"
done
