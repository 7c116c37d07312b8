#!/bin/sh
# Tests the report page, at the end of a run and from `ringtrain report` for one run or several:
# hostile names stay text.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 60 24
evil='<img src=x onerror=alert(1)>&"'
for part in train val; do mv "$data/$part/circle" "$data/$part/$evil"; done
train="$ringtrain train $common --data $data --report-every 2 --pictures 2"

has() {
    checks=$((checks + 1))
    grep -qF -e "$2" "$1" || fail "$1 has no '$2'"
}
hasnt() {
    checks=$((checks + 1))
    if grep -qF -e "$2" "$1"; then fail "$1 has '$2'"; fi
}

echo "at the end of a run"
code 0 $train --epochs 1 --model-dir "$work/a/model" --checkpoint-dir "$work/a/c" \
    --out "$work/a/output/data" --log-dir "$work/a/output/data"
says "report of this run in $work/a/output/data/report.html"
page=$work/a/output/data/report.html
has "$page" '&lt;img src=x onerror=alert(1)&gt;&amp;&quot;'
hasnt "$page" '<img src=x'
hasnt "$page" '<script'
hasnt "$page" 'http:'
hasnt "$page" 'https:'
for part in 'Training loss' 'Top-1 accuracy' 'Results by class' 'confusion matrix' \
    'data:image/jpeg;base64,' 'complete</span>' 'computation <b>' \
    '--report-every<td class=value>2'; do
    has "$page" "$part"
done

echo "by command, the same; twice the same"
code 0 "$ringtrain" report "$work/a" --out "$work/page.html"
cmp "$page" "$work/page.html" || fail "another page than at the run's end"
code 0 "$ringtrain" report "$work/a" --out "$work/page.html"

echo "a run that fails, and the attempt after it"
code 66 $train --epochs 1 --model-dir "$work/b/model" --checkpoint-dir "$work/b/c" \
    --log-dir "$work/b" --resume "$work/none"
code 0 $train --epochs 1 --lr 0.2 --model-dir "$work/b/model" --checkpoint-dir "$work/b/c" \
    --log-dir "$work/b" --out "$work/b"
code 0 "$ringtrain" report "$work/a" "$work/b" --out "$work/two.html"
has "$work/two.html" '<tr class=differs><td class=name>--lr<td class=value>'
has "$work/two.html" 'exit code 66'
grep -q '"kind":"failure".*"error":"' "$work/b/run.jsonl" || fail "run.jsonl does not say why"

echo "a run that goes on, with a torn line"
mkdir "$work/c"
head -n 6 "$work/a/output/data/run.jsonl" >"$work/c/run.jsonl"
printf '{"kind":"tr' >>"$work/c/run.jsonl"
code 0 "$ringtrain" report "$work/c" --out "$work/c.html"
has "$work/c.html" 'running or killed'
has "$work/c.html" 'There are no pictures'

echo "what cannot be"
code 64 "$ringtrain" report
code 64 "$ringtrain" report "$work/a" --page x
code 64 "$ringtrain" report a b c d e f g h i j k l m n o p q
says "at most 16"
code 66 "$ringtrain" report "$work/nowhere" --out "$work/x.html"
says "$work/nowhere: no run.jsonl in it"
echo mine >"$work/mine.html"
code 65 "$ringtrain" report "$work/a" --out "$work/mine.html"
says "--out"
[ "$(cat "$work/mine.html")" = mine ] || fail "a file of others is lost"
code 65 "$ringtrain" report "$work/a" --out "$work/none/x.html"
