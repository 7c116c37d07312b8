#!/bin/sh
# Tests `ringtrain prepare` as several ranks that share the target: any number of ranks writes the
# bytes that one process writes, also after a rank has died; and all ranks end with one exit code.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 40
without_launcher
shards="--shards 7 --threads 1"

# end_together SIZE: with run_rank RANK, runs all ranks. Their exit codes become $codes, in the
# order of the ranks, and their outputs $work/rank.RANK.
end_together() {
    checks=$((checks + 1))
    port=$((port + 1))
    pids=
    for rank in $(seq 0 $(($1 - 1))); do
        run_rank "$rank" "$1" >"$work/rank.$rank" 2>&1 &
        pids="$pids $!"
    done
    codes=
    for pid in $pids; do
        got=0
        wait "$pid" || got=$?
        codes="$codes $got"
    done
}
# ended CODES TEXT RANKS: with these codes, and each of RANKS says TEXT.
ended() {
    checks=$((checks + 1))
    [ "$codes" = "$1" ] || {
        cat "$work"/rank.*
        fail "exit codes$codes, not$1"
    }
    for rank in $3; do
        grep -q -e "$2" "$work/rank.$rank" || {
            cat "$work/rank.$rank"
            fail "rank $rank does not say: $2"
        }
    done
}

# the_same FOLDER: it holds the files of one process, and none besides.
the_same() {
    checks=$((checks + 1))
    diff -r "$work/one" "$1" || fail "$1 is not what one process writes"
}

code 0 "$ringtrain" prepare folder "$data" "$work/one" $shards

echo "three ranks write what one process writes"
together 3 three "$ringtrain" prepare folder "$data" "$work/three" $shards
the_same "$work/three"
grep -q '200 pictures in 9 shards' "$work/three.out" || fail "rank 0 does not sum up"
[ "$(cat "$work"/three.[12] | grep -c 'pictures in [0-9]')" = 0 ] || fail "other ranks sum up, too"

echo "more ranks than shards"
together 3 many "$ringtrain" prepare folder "$data" "$work/many" --shards 1 --format recordio
code 0 "$ringtrain" prepare folder "$data" "$work/few" --shards 1 --format recordio
checks=$((checks + 1))
diff -r "$work/few" "$work/many" || fail "more ranks than shards: other files"

echo "ImageNet's archives, from two ranks"
python3 "$(dirname "$0")/published_archives.py" "$data" "$work/from"
archives="$work/from/ILSVRC2012_img_train.tar $work/from/ILSVRC2012_img_val.tar"
flags="--val-labels $work/from/synsets.txt --resize 20 --shards 5 --format tfrecord"
code 0 "$ringtrain" prepare imagenet $archives "$work/imagenet" $flags
together 2 imagenet-ranks "$ringtrain" prepare imagenet $archives "$work/imagenet-ranks" $flags
checks=$((checks + 1))
diff -r "$work/imagenet" "$work/imagenet-ranks" || fail "ImageNet from two ranks: other files"

echo "a rank that dies while it writes: the others end, and other numbers of ranks go on"
# The size limit kills rank 1 in the middle of its first shard.
run_rank() {
    [ "$1" != 1 ] || ulimit -f 8
    rank_of "$1" "$2" "$ringtrain" prepare folder "$data" "$work/died" $shards
}
end_together 3
code_of_others=${codes##* }
[ "$code_of_others" != 0 ] || fail "the others end well"
case $codes in
" $code_of_others $code_of_others $code_of_others") fail "rank 1 has not been killed" ;;
" $code_of_others "*" $code_of_others") ;;
*) fail "exit codes$codes" ;;
esac
grep -q 'waiting for the other ranks' "$work/rank.0" || fail "rank 0 does not say why it ends"
[ ! -e "$work/died/train-00001-of-00007.tar" ] || fail "rank 1 has finished its shard"
[ ! -e "$work/died/train.rtix" ] || fail "an index of an incomplete set"
cp -r "$work/died" "$work/died-too"
together 2 two "$ringtrain" prepare folder "$data" "$work/died" $shards
the_same "$work/died"
code 0 "$ringtrain" prepare folder "$data" "$work/died-too" $shards
the_same "$work/died-too"

echo "shards that are there are not made again"
rm "$work/died/train-00003-of-00007.tar"
together 3 kept "$ringtrain" prepare folder "$data" "$work/died" $shards
grep -q '8 of these were there already' "$work/kept.out" || fail "not 8 that were there"
the_same "$work/died"

echo "a fault on one rank is the outcome of all"
cp -r "$data" "$work/faulty"
broken=$(find "$work/faulty/train" -name '*.jpg' | sort | head -n 1)
printf 'no picture' >"$broken"
run_rank() {
    rank_of "$1" "$2" "$ringtrain" prepare folder "$work/faulty" "$work/bad" $shards --resize 20
}
end_together 3
ended " 66 66 66" "(rank [012]): .*$(basename "$broken")" "0 1 2"

echo "ranks with other data, or without a target that they share"
run_rank() {
    from=$data
    [ "$1" != 1 ] || from=$work/faulty/val
    rank_of "$1" "$2" "$ringtrain" prepare folder "$from" "$work/other" $shards
}
end_together 3
ended " 66 66 66" 'the data set, or a flag of .*, differs .*(rank 1)' "0 1 2"
[ ! -e "$work/other" ] || fail "a target was made for data that differ"
run_rank() {
    rank_of "$1" "$2" "$ringtrain" prepare folder "$data" "$work/host-$1" $shards
}
end_together 2
ended " 65 65" '(rank 1): .*host-1: not the folder that rank 0 writes to' "0 1"

echo "a target within the source is refused on all ranks, and rank 0 alone warns of alike names"
run_rank() {
    rank_of "$1" "$2" "$ringtrain" prepare folder "$data" "$data/out" $shards
}
end_together 2
ended " 64 64" "out: lies in the source $data" "0 1"
[ ! -e "$data/out" ] || fail "a target was made within the source"
cp -r "$data/train" "$work/alike"
mkdir "$work/alike/Circle"
cp "$(find "$work/alike/circle" -name '*.jpg' | sort | head -n 1)" "$work/alike/Circle"
together 2 alike-names "$ringtrain" prepare folder "$work/alike" "$work/alike-tar" $shards
warning="the classes 'Circle' and 'circle' differ in upper and lower case alone"
checks=$((checks + 1))
grep -q "$warning" "$work/alike-names.out" || fail "rank 0 does not warn of alike names"
grep -q "$warning" "$work/alike-names.1" && fail "rank 1 warns of alike names, too"

echo "a rank of another job that still writes, and what one process alone writes"
mkdir "$work/held"
: >"$work/held/.ringtrain-rank-5"
exec 7<"$work/held/.ringtrain-rank-5"
flock 7
code 65 "$ringtrain" prepare folder "$data" "$work/held" $shards
says 'a rank of another job still writes shards here'
exec 7<&-
code 0 "$ringtrain" prepare folder "$data" "$work/held" $shards
the_same "$work/held"
code 64 rank_of 0 2 "$ringtrain" prepare folder "$data" "$work/classes" --format folder
says 'format folder on 2 ranks'
code 64 rank_of 0 2 "$ringtrain" prepare imagenet https://127.0.0.1:9/train.tar "$work/classes"
says 'addresses on 2 ranks'

if can_mpirun; then
    echo "two ranks over MPI"
    code 0 ranks 2 "$ringtrain" prepare folder "$data" "$work/mpi" $shards
    the_same "$work/mpi"
    recorded_ranks 2 "$ringtrain" prepare folder "$work/faulty" "$work/bad-mpi" $shards --resize 20
    codes 66 2
fi
