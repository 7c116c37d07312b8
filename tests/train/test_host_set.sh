#!/bin/sh
# Tests that the ranks of one host scan a data set once, share its samples, train as ranks that each
# have their own, and all fail if the scan does.
# shellcheck disable=SC2154,SC2086,SC2016  # variables of lib.sh; lists; for the ranks' own shells
set -eu
. "$(dirname "$0")/lib.sh"
need_mpirun
program=$tools/index_ranks
[ -x "$program" ] || skip "no index_ranks in this build"
make_data 600 40
code 0 "$ringtrain" prepare folder "$data" "$work/shards" --format tar --shards 3
rm "$work"/shards/*.rtix
chmod a-w "$work/shards"
pattern=$work/shards/train'*'

# shared NAME DATA: three ranks have the same samples, in memory that they share.
shared() {
    code 0 ranks 3 "$program" set "$2"
    cat "$work/out"
    [ "$(grep -c '600 samples, hash' "$work/out")" = 3 ] || fail "$1: not three ranks"
    [ "$(sed 's/.* of 3: //; s/, [0-9]* KiB its share//' "$work/out" | sort -u | wc -l)" = 1 ] ||
        fail "$1: other samples"
    sum=$(awk '{ sum += $(NF - 3) } END { print sum }' "$work/out")
    one=$(awk '{ print $(NF - 6); exit }' "$work/out")
    # Each share is rounded down to whole KiB.
    [ "$one" -gt 0 ] && [ "$sum" -le "$one" ] && [ "$sum" -ge $((one - 3)) ] ||
        fail "$1: samples of $one KiB are $sum KiB"
}

echo "a folder and shards lie in the host's memory once"
shared folder "$data/train"
shared shards "$pattern"

# traced RANKS DATA: the ranks open the set and write which files they open to $work/opened.RANK.
traced() {
    rm -f "$work"/opened.*
    code 0 ranks "$1" sh -c 'out=$1; shift
        exec strace -f -qq -e trace=openat -o "$out/opened.$OMPI_COMM_WORLD_RANK" "$@"' - \
        "$work" "$program" set "$2"
}
# scans FILE: prints how many ranks have opened the file.
scans() { grep -l -F -e "$1" "$work"/opened.* | wc -l; }

if strace -qq -e trace=openat true 2>/dev/null; then
    echo "one rank scans, and the others open neither shards nor folders of classes"
    traced 3 "$pattern"
    for shard in 0 1 2; do
        [ "$(scans "/train-0000$shard-of-00003.tar\"")" = 1 ] ||
            fail "shard $shard was opened by $(scans "/train-0000$shard-of-00003.tar\"") ranks"
    done
    traced 3 "$data/train"
    [ "$(scans '"circle"')" = 1 ] || [ "$(scans '/circle"')" = 1 ] ||
        fail "the folder was read by other than one rank"
else
    skip_part "how often a set is scanned: strace may not trace here"
fi

echo "ranks that do not see one another's processes scan it themselves"
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    # By default, Open MPI's ranks on one host read each other's memory by process ID, which fails
    # across PID namespaces.
    code 0 env OMPI_MCA_btl_vader_single_copy_mechanism=none mpirun $mpi -np 2 sh -c '
        [ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$@"
        exec unshare --pid --fork --mount-proc "$@"' - "$program" set "$pattern"
    [ "$(grep -c '600 samples, .*, 0 KiB mapped' "$work/out")" = 2 ] || {
        cat "$work/out"
        fail "not one each"
    }
else
    skip_part "ranks in process spaces of their own: not allowed to make any"
fi

# run NAME RANKS ACCUMULATE DATA FLAGS...
run() {
    name=$1 n=$2 accumulate=$3 from=$4
    shift 4
    code 0 ranks "$n" "$ringtrain" train $common --data "$from" --accumulate "$accumulate" \
        --steps 10 --seed 5 --index none --model-dir "$work/$name" \
        --checkpoint-dir "$work/$name.checkpoints" --report-every 1 "$@"
    cp "$work/out" "$work/$name.out"
}
last() { find "$work/$1.checkpoints" -name '*.safetensors' | sort | tail -n 1; }
# as_alone NAME DATA FLAGS...: two ranks that share a set train as one rank with two micro-batches.
as_alone() {
    as=$1 set=$2
    shift 2
    run "$as-two" 2 1 "$set" "$@"
    run "$as-one" 1 2 "$set" "$@"
    # Each rank has its own statistics of batch norm until they are averaged: they are not compared.
    same_weights "$(last "$as-two")" "$(last "$as-one")" exact "" .running_ .num_batches_tracked
    [ "$(losses "$work/$as-two.out")" = "$(losses "$work/$as-one.out")" ] &&
        [ "$(losses "$work/$as-two.out" | wc -l)" = 10 ] || fail "$as: other losses"
}

echo "weights and losses are those of a rank that has its own set, to the bit"
as_alone shards "$work/shards"
as_alone folder "$data"
as_alone split "$data/train" --val-split 0.2

echo "ranks over TCP do the same"
without_launcher
together 2 tcp "$ringtrain" train $common --data "$work/shards" --steps 10 --seed 5 --index none \
    --model-dir "$work/tcp" --checkpoint-dir "$work/tcp.checkpoints"
same_weights "$(last tcp)" "$(last shards-two)" exact ""

echo "a damaged shard: all ranks name it, and end alike"
code 0 "$ringtrain" prepare folder "$data" "$work/damaged" --format tfrecord --shards 3
rm "$work"/damaged/*.rtix
shard=$work/damaged/train-00001-of-00003.tfrecord
head -c $(($(wc -c <"$shard") - 10)) "$shard" >"$work/part" && mv "$work/part" "$shard"
recorded_ranks 3 "$program" set "$work/damaged/train*"
codes 66 3
for rank in 0 1 2; do
    grep -q "^rank $rank: .*train-00001-of-00003.tfrecord: " "$work/err" || {
        cat "$work/err"
        fail "rank $rank does not name the shard"
    }
done
recorded_ranks 2 "$ringtrain" train $common --data "$work/damaged" --steps 2 --index none \
    --model-dir "$work/d" --checkpoint-dir "$work/d.c"
codes 66 2
[ "$(grep -c 'train-00001-of-00003.tfrecord: ' "$work/err")" -ge 2 ] ||
    fail "not named by both ranks"

echo "a rank that is killed while it scans does not leave the others waiting"
if strace -qq -e trace=openat -e inject=openat:signal=USR1:when=999 true 2>/dev/null; then
    port=$((port + 1))
    rank_of 1 2 "$ringtrain" train $common --data "$work/shards" --steps 2 --index none \
        --model-dir "$work/k" --checkpoint-dir "$work/k.c" >"$work/killed.1" 2>&1 &
    other=$!
    rank_of 0 2 strace -f -qq -o /dev/null -P "$work/shards/train-00002-of-00003.tar" \
        -e trace=openat -e inject=openat:signal=KILL "$ringtrain" train $common \
        --data "$work/shards" --steps 2 --index none --model-dir "$work/k" \
        --checkpoint-dir "$work/k.c" >"$work/killed.0" 2>&1 && fail "rank 0 was not killed"
    got=0
    wait $other || got=$?
    # 124: it waited until rank_of ended it.
    [ "$got" != 0 ] && [ "$got" != 124 ] || { cat "$work/killed.1"; fail "rank 1 ended with $got"; }
    cat "$work/killed.1"
    checks=$((checks + 1))
else
    skip_part "a rank that is killed: strace may not trace here"
fi
