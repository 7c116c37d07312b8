#!/bin/sh
# Tests that a run keeps its flags, metrics and log in a folder, and at its end suggests commands to
# run next.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 40 16
train="$ringtrain train $common --data $data --report-every 2"

# count KIND N: run.jsonl has N lines of KIND.
count() {
    checks=$((checks + 1))
    found=$(grep -c "^{\"kind\":\"$1\"," "$work/m/run.jsonl" || true)
    [ "$found" = "$2" ] || fail "$found lines of kind $1, not $2"
}

echo "beside the model, where there is no other place"
[ ! -d /opt/ml/output/data ] || skip "/opt/ml/output/data is here"
# shellcheck disable=SC2086  # a list
code 0 env -u SM_OUTPUT_DATA_DIR $train --epochs 1 --lr 0.03 --model-dir "$work/m" \
    --checkpoint-dir "$work/c"
says "go to run.jsonl and run.log in $work/m"
says "next: ringtrain eval --model-dir $work/"
says "next: ringtrain predict --model-dir $work/"
count run 1
count train 4
count epoch 1
count eval 1
count end 1
count start 1
count classes 1
count checkpoint 1
# An independent JSON reader checks the schema of docs/reference/run-log.md.
if command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 - "$work/m/run.jsonl" <<'END' || fail "run.jsonl is not as documented"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
by = {line["kind"]: line for line in lines}
run, train, end, classes = by["run"], by["train"], by["end"], by["classes"]
assert run["version"] == 1 and run["task"] == "classify" and run["images"] == 40, run
assert run["own_flags"].find("--lr 0.03") >= 0 and run["flags"]["lr"] == "0.03", run
assert by["start"]["step"] == 0
parts = sum(end[p + "_seconds"] for p in ("training", "eval", "checkpoint"))
assert 0 < parts <= end["seconds"], end
assert 0 <= end["data_seconds"] + end["ranks_seconds"] <= end["training_seconds"], end
assert end["step"] == train["step"] and train["training_seconds"] <= end["training_seconds"]
assert classes["metric"] == "top1" and classes["step"] == end["step"]
images = sum(row[1] for row in classes["rows"])
right = sum(row[1] * row[2] for row in classes["rows"])
assert images == by["eval"]["images"] if "images" in by["eval"] else images == 16, classes
assert abs(right / images - by["eval"]["top1"]) < 1e-6, classes
assert sum(cell[2] for cell in classes["cells"]) == images
assert abs(sum(c[2] for c in classes["cells"] if c[0] == c[1]) - right) < 1e-6
END
fi
grep -q '"flags":{.*"epochs":"1",.*"lr":"0.03"' "$work/m/run.jsonl" || fail "no flags"
grep -q '^{"kind":"end",.*"code":0,' "$work/m/run.jsonl" || fail "no end"
grep -q ' info    looking for pictures' "$work/m/run.log" || fail "the log has not its first lines"
[ "$(wc -l <"$work/err")" = "$(wc -l <"$work/m/run.log")" ] || fail "the log is not all of it"
# The suggested command works.
next=$(sed -n 's/.*next: ringtrain \(eval .*\)/\1/p' "$work/err")
# shellcheck disable=SC2086  # words
code 0 "$ringtrain" $next
for head in "top-1 by class" "most frequent confusions" "worst mistakes"; do
    grep -q "^$head" "$work/out" || fail "eval prints no $head: $(cat "$work/out")"
done
grep -qE '^ +[0-9.]+ %  .*\.jpg  .* taken for ' "$work/out" ||
    fail "no mistake is named: $(cat "$work/out")"
tail -n 1 "$work/out" | grep -q '^eval ' || fail "the metric line is not the last"

# once WORDS: the log has one line with them.
once() {
    checks=$((checks + 1))
    [ "$(grep -c "$1" "$work/err")" = 1 ] || fail "not once: $1: $(cat "$work/err")"
}
echo "a job of several ranks says once what to run next, and so does one under a launcher"
if has_mpirun; then
    # shellcheck disable=SC2086  # a list
    code 0 ranks 2 "$ringtrain" train $common --data "$data" --epochs 1 --log-dir "$work/l2" \
        --model-dir "$work/m5" --checkpoint-dir "$work/c5"
    once "next: ringtrain eval --model-dir $work/"
    once "next: ringtrain predict --model-dir $work/"
else
    skip_part "$why"
fi
# shellcheck disable=SC2086
code 0 env OMPI_COMM_WORLD_SIZE=1 $train --epochs 1 --log-dir "$work/l3" --model-dir "$work/m6" \
    --checkpoint-dir "$work/c6"
once "next: ringtrain eval --model-dir $work/"
once "next: ringtrain predict --model-dir $work/"

echo "TensorBoard gets the flags as a text, of each run at its first step"
# shellcheck disable=SC2086
code 0 env -u SM_OUTPUT_DATA_DIR $train --epochs 1 --lr 0.03 --model-dir "$work/mt" \
    --checkpoint-dir "$work/ct" --tensorboard-dir "$work/events"
grep -qa '| --lr | 0.03 |' "$work"/events/train/events* || fail "no flags in TensorBoard"
if command -v python3 >/dev/null; then
    python3 "$(dirname "$0")/tfevents.py" "$work/events" >"$work/steps" || fail "no events"
    grep -qx 'train/flags 0' "$work/steps" || fail "the text is not at step 0: $(cat "$work/steps")"
fi

echo "the next run appends; one that fails says with which code"
# shellcheck disable=SC2086
code 0 env -u SM_OUTPUT_DATA_DIR $train --epochs 2 --lr 0.03 --model-dir "$work/m" \
    --checkpoint-dir "$work/c"
count run 2
# shellcheck disable=SC2086
code 65 env -u SM_OUTPUT_DATA_DIR $train --epochs 2 --lr 0.05 --model-dir "$work/m" \
    --checkpoint-dir "$work/c"
tail -n 1 "$work/m/run.jsonl" | grep -q '^{"kind":"end",.*"code":65[,}]' ||
    fail "its end is not told"
tail -n 1 "$work/m/run.log" | grep -q ' error .*nothing to train' ||
    fail "its error is not in the log"

echo "elsewhere, and in a container where the platform says"
# shellcheck disable=SC2086
code 0 env SM_OUTPUT_DATA_DIR="$work/given" $train --epochs 1 --model-dir "$work/m2" \
    --checkpoint-dir "$work/c2"
[ -s "$work/given/run.jsonl" ] && [ ! -e "$work/m2/run.jsonl" ] ||
    fail "not where SM_OUTPUT_DATA_DIR is"
# shellcheck disable=SC2086
code 0 $train --epochs 1 --log-dir "$work/flag/new" --model-dir "$work/m3" \
    --checkpoint-dir "$work/c3"
[ -s "$work/flag/new/run.log" ] || fail "not in --log-dir"
: >"$work/file"
# shellcheck disable=SC2086
code 65 $train --epochs 1 --log-dir "$work/file" --model-dir "$work/m4" --checkpoint-dir "$work/c4"
says "--log-dir"
