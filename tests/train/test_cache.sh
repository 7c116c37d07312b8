#!/bin/sh
# Tests that a training with --cache is the same bit for bit as without one: from memory, a file and
# an earlier run's file, and on one and two ranks. Invalid settings are refused before it begins.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 40

# train NAME FLAGS...: trains in one process.
train() {
    name=$1
    shift
    code 0 "$ringtrain" train $common --data "$data" --validation none --steps 50 --epochs 3 \
        --seed 3 --model-dir "$work/$name" --checkpoint-dir "$work/$name.checkpoints" "$@"
}

echo "pictures from a cache train the model that they train without one"
train plain
train ram --cache ram
prints '[-]-cache ram: 160 decoded pictures take about 0.00 GB on each host; 0 are there already'
same_model plain ram
train file --cache "$work/pictures" --data-threads 3
same_model plain file
train again --cache "$work/pictures"
prints '; 160 are there already'
same_model plain again

echo "pictures that are kept smaller are those that prepare makes"
train small --cache "$work/pictures" --cache-side 36
prints '; 0 are there already'
code 0 "$ringtrain" prepare folder "$data" "$work/raw" --resize 36 --raw true
code 0 "$ringtrain" train $common --data "$work/raw" --validation none --steps 50 --epochs 3 \
    --seed 3 --model-dir "$work/prepared" --checkpoint-dir "$work/prepared.checkpoints"
same_model small prepared
code 65 "$ringtrain" train $common --data "$data" --validation none --steps 60 --epochs 3 --seed 3 \
    --cache ram --model-dir "$work/small" --checkpoint-dir "$work/small.checkpoints" --cache-side 40
says 'cache-side 40 (was 36)'

if can_mpirun; then
    echo "two ranks share a cache"
    for cache in none ram "$work/shared"; do
        name=two-$(basename "$cache")
        ranks 2 "$ringtrain" train $common --data "$data" --validation none --steps 25 --epochs 3 \
            --seed 3 --cache "$cache" --model-dir "$work/$name" \
            --checkpoint-dir "$work/$name.checkpoints" >"$work/out" 2>"$work/err" ||
            { cat "$work/err"; fail "$name"; }
        ! grep -q 'decodes its pictures each time' "$work/err" || fail "$cache: a rank goes without"
        same_model two-none "$name"
    done
fi

echo "what cannot be"
refused() {
    wanted=$1 words=$2
    shift 2
    code "$wanted" timeout 300 "$ringtrain" train $common --data "$data" --steps 2 --resume none \
        --checkpoint-dir "$work/c" --model-dir "$work/m" "$@"
    says "$words"
}
refused 65 "--cache $work/none/file: No such file or directory" --cache "$work/none/file"
cp "$0" "$work/text"
refused 65 "not a cache of pictures; name a cache, or a file that does not exist yet" \
    --cache "$work/text"
cmp -s "$0" "$work/text" || fail "a file of the user's was changed"
refused 65 "not a regular file" --cache /dev/null
refused 64 "--cache-side: there is no cache" --cache-side 100
refused 64 "--cache: the synthetic set has no pictures" --data synthetic --cache ram

echo "less memory than the decoded pictures take"
# A build with a sanitizer does not start in so little address space.
if sh -c 'ulimit -v 700000 && "$1" version' - "$ringtrain" >/dev/null 2>&1; then
    # A hundred pictures of 12.6 MB each when decoded: two files with many hard links.
    code 0 "$ringtrain" prepare shapes "$work/large" --train 2 --validation 2 --classes 2 \
        --side 2048
    for file in "$work/large/train"/*/*.jpg; do
        for name in $(seq 1 50); do
            ln "$file" "${file%.jpg}-$name.jpg"
        done
    done
    large="$common --data $work/large --validation none --steps 2 --resume none
        --cache ram --image-size 32"
    code 65 sh -c 'ulimit -v 700000 && exec "$@"' - timeout 300 "$ringtrain" train $large \
        --checkpoint-dir "$work/c" --model-dir "$work/m"
    says '--cache ram: the decoded pictures need 1.28 GB, and '
    says '(80 % of what '
    says 'give a file, a smaller --cache-side, or less data'
    [ ! -e "$work/c" ] || fail "the training began"
    code 0 sh -c 'ulimit -v 700000 && exec "$@"' - timeout 300 "$ringtrain" train $large \
        --checkpoint-dir "$work/c" --model-dir "$work/m" --cache-side 64
else
    skip_part "too little memory: this build does not start in 700 MB"
fi
