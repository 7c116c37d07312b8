#!/bin/sh
# Tests `ringtrain inspect data`: it reports what is wrong with a folder of pictures, and its exit
# code tells scripts.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 16 8

# printed TEXT: standard output contains TEXT.
printed() {
    grep -qF -e "$1" "$work/out" || { cat "$work/out" "$work/err"; fail "not printed: $1"; }
}

echo "a sound set"
code 0 "$ringtrain" inspect data "$data"
printed "$data/train: 16 pictures in 4 classes"
printed "$data/val: 8 pictures in 4 classes"
printed "  width 40 to 40, height 40 to 40 pixels"
printed "         4  circle"
printed "found: 0 bad, 0 damaged, 0 left out"
code 0 "$ringtrain" inspect data "$data/train" --threads 3

echo "everything that can be wrong"
first=$(find "$data/train/circle" -name '*.jpg' | sort | head -n 1)
cp "$first" "$data/train/circle/same.jpg"
code 0 "$ringtrain" inspect data "$data/train"
printed "same bytes: $first $data/train/circle/same.jpg"
cp "$first" "$data/train/star/other.jpg"
code 66 "$ringtrain" inspect data "$data/train"
printed "same bytes in other classes: $first"
code 0 "$ringtrain" prepare folder "$data/train" "$work/shards"
code 66 "$ringtrain" inspect data "$work/shards"
shard=$(echo "$work"/shards/*.tar)
printed "$shard: ${first##*/} (circle) "
printed "$shard: other.jpg (star)"
rm "$data/train/star/other.jpg"
cp "$first" "$data/val/circle/leak.jpg"
code 66 "$ringtrain" inspect data "$data"
printed "same bytes in other sets: $first"
cp "$first" "$data/val/star/both.jpg"
code 66 "$ringtrain" inspect data "$data"
printed "same bytes in other classes and sets: $first"
rm "$data/val/circle/leak.jpg" "$data/val/star/both.jpg"
head -c 300 "$first" >"$data/train/circle/cut.jpg"
{ head -c $(($(wc -c <"$first") * 3 / 4)) "$first" && printf '\377\331'; } \
    >"$data/train/circle/damaged.jpg"
: >"$data/train/star/a.webp"
: >"$data/train/star/notes.txt"
code 66 "$ringtrain" inspect data "$data"
printed "bad: $data/train/circle/cut.jpg: JPEG: truncated"
printed "damaged: $data/train/circle/damaged.jpg: "
printed "left out: $data/train/star/a.webp"
printed "left out: $data/train/star/notes.txt"
[ "$(grep -c '^left out: ' "$work/out")" = 2 ] || fail "other files are left out, too"
printed "found: 1 bad, 1 damaged, 2 left out (1 of them pictures), 1 duplicates"

echo "shards that end early, with an index from before and without one"
for format in tar tfrecord recordio; do
    code 0 "$ringtrain" prepare folder "$data/val" "$work/$format" --format "$format"
    shard=$(find "$work/$format" -name 'train-*-of-00001*' ! -name '*.rtix' ! -name '*.idx')
    size=$(wc -c <"$shard")
    head -c $((size / 5)) "$shard" >"$work/part" && cp "$work/part" "$shard"
    code 66 "$ringtrain" inspect data "$work/$format"
    left=$(sed -n 's/.*: \([0-9]*\) pictures* in 1 shard of.*/\1/p' "$work/out")
    printed "; $((8 - left)) records cannot be used, the first: $shard: at byte"
    grep -q "^found: $((8 - left)) bad, .*: not in order" "$work/out" || fail "lost: $format"
    rm "$work/$format/"*.rtix
    code 66 "$ringtrain" inspect data "$work/$format"
    printed "; at least 1 record cannot be used and"
    printed "found: 1 bad"
done

echo "wrong use"
code 64 "$ringtrain" inspect data
says "DIR"
code 64 "$ringtrain" inspect data "$data" --threads many
code 66 "$ringtrain" inspect data "$work/none"
says "$work/none"
code 0 "$ringtrain" inspect --help
grep -q 'inspect data DIR' "$work/out" || fail "no word in --help"
