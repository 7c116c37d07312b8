#!/bin/sh
# Checks that docs/internals/fuzzing.md names each source that reads files or sockets in the
# trainer's rooms of data, scores, checkpoints, reports and shared optimizers, with a target or a
# reason, and that the sources and targets it names exist.
# shellcheck disable=SC2016  # code spans of the page
set -u
cd "$(dirname "$0")/../.." || exit 2
page=docs/internals/fuzzing.md
failed=0
say() {
    echo "$1"
    failed=1
}

# The full paths of the sources that the page names: a name without a folder is in the folder of the
# one before it.
named=$(grep -o '`[a-z][a-z0-9_/]*\.c`' "$page" | tr -d '`' | awk '
    /\// { folder = $0; sub(/[^\/]*$/, "", folder); print; next } { print folder $0 }')
for source in $named; do
    [ -e "$source" ] || say "$page names $source, which is not there"
done

reads='(^|[^a-z_>.])(fread|fgets|getline|file_read|pread|read|recv|inflate|json_read_file|jpeg_read_header|png_set_read_fn|shard_file_read)\('
for source in $(git ls-files --cached --others --exclude-standard 'trainer/data/*.c' \
    'trainer/eval/*.c' 'trainer/checkpoint/*.c' 'trainer/telemetry/*.c' 'trainer/report/*.c' \
    'trainer/shard/*.c' | xargs grep -lE "$reads"); do
    echo "$named" | grep -qx "$source" ||
        say "$source reads something: $page has no target for it and no reason"
done

targets=$(grep -o '`fuzz_[a-z_]*`' "$page" | tr -d '`' | sort -u)
for target in $targets; do
    [ -e "tests/fuzz/$target.c" ] || say "$page names $target, which is not there"
    [ -n "$(ls "tests/fuzz/corpus/${target#fuzz_}" 2>/dev/null)" ] || say "$target has no seeds"
done
for file in $(grep -lE '^#include "trainer/(data|eval|checkpoint|telemetry|report|shard)/' \
    tests/fuzz/fuzz_*.c); do
    target=${file##*/}
    echo "$targets" | grep -qx "${target%.c}" || say "$page does not name ${target%.c}"
done
exit $failed
