#!/bin/sh
# Tests training data that is divided among hosts (--sharded): each of three hosts trains on its own
# part, in as many steps as the smallest part has; a resumed run has the bits of an uninterrupted
# one; data that differs without the flag is refused.
# shellcheck disable=SC2154,SC2086,SC2016  # variables of lib.sh; lists; for the ranks' shell
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
make_data 200 40

# The parts differ in size and classes, each in the folder of its host; the first is in shards.
for part in 0 1 2; do
    mkdir -p "$work/host$part/part"
    ln -s "$data/val" "$work/host$part/val"
done
number=0
for file in $(cd "$data/train" && find . -name '*.jpg' | sort); do
    part=$((number % 3))
    number=$((number + 1))
    case $part:$file in
    1:./circle/* | 2:./square/*) part=0 ;;
    2:*) [ $((number % 4)) != 0 ] || part=1 ;;
    esac
    mkdir -p "$work/host$part/part/$(dirname "$file")"
    cp "$data/train/$file" "$work/host$part/part/$file"
done
sizes=$(for part in 0 1 2; do find "$work/host$part/part" -name '*.jpg' | wc -l; done | tr '\n' ' ')
read -r first second third <<END
$sizes
END
code 0 "$ringtrain" prepare folder "$work/host0/part" "$work/shards0"
rm -r "$work/host0/part" && mv "$work/shards0" "$work/host0/part"
least=$first
[ "$second" -ge "$least" ] || least=$second
[ "$third" -ge "$least" ] || least=$third

# run NAME FLAGS...: trains on three ranks, each in the folder of its host.
each='cd "$1/host$OMPI_COMM_WORLD_RANK"; shift; exec "$@" --data part'
run() {
    name=$1
    shift
    recorded_ranks 3 sh -c "$each" - "$work" "$ringtrain" train $common --validation val \
        --report-every 1 --model-dir "$work/$name" --checkpoint-dir "$work/$name.checkpoints" \
        --seed 3 --schedule constant "$@"
    cp "$work/out" "$work/$name.out"
    cp "$work/err" "$work/$name.err"
}

echo "each host trains on its own part, and says so"
run sharded --epochs 3 --sharded true
codes 0 3
prints "sharded training data: 3 parts of $first, $second, $third pictures, 200 in all; each host trains on its own part"
steps=$((least / 8))
prints "sharded training data: $steps steps an epoch, as the smallest part has; $((200 - 24 * steps)) of 200 pictures are left out"
prints '4 classes; 200 training images'
[ "$(losses "$work/sharded.out" | wc -l)" = $((3 * steps)) ] || fail "not $((3 * steps)) steps"
prints 'images=40'

echo "the same again, and resumed in the middle of an epoch, to the bit"
run begun --epochs 3 --steps $((steps + 2)) --sharded true
codes 0 3
run begun --epochs 3 --sharded true --mean imagenet
codes 0 3
prints 'resumed from'
! grep -q 'other data' "$work/err" || fail "the same parts count as other data"
same_model sharded begun

echo "the means of all parts"
run means --epochs 1 --sharded true --mean data --resume none
codes 0 3
prints 'looking at .* of each part'

echo "what is not meant so is refused, with what to do"
run refused --epochs 1
codes 66 3
prints 'the training data differs between hosts: .*; --sharded true trains each host on what it has'
run refused --epochs 1 --sharded true --order lanes --lanes 3
codes 64 3
prints 'order lanes: the training data is divided among hosts'
recorded_ranks 3 sh -c "$each" - "$work" "$ringtrain" train $common --epochs 1 --sharded true \
    --val-split 0.2 --model-dir "$work/v" --checkpoint-dir "$work/v.checkpoints"
codes 64 3
prints 'val-split: the training data is divided among hosts'

echo "hosts that all have the same files train on one set"
for part in 1 2; do
    rm -r "$work/host$part/part"
    cp -r "$work/host0/part" "$work/host$part"
done
run same --epochs 1 --sharded true
codes 0 3
prints 'sharded training data: all ranks have the same files, as one set'

echo "validation data that differs is refused"
rm "$work/host1/val" && cp -r "$data/val" "$work/host1"
rm "$(find "$work/host1/val/" -name '*.jpg' | sort | head -n 1)"
run refused --epochs 1 --sharded true
codes 66 3
prints 'the validation data differs between hosts'
