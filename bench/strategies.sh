#!/bin/sh
# Measures the strategies of data-parallel training (--strategy) in turns, over this machine's
# loopback: images per second and the share of the time that rank 0 waited for others, medians of
# three runs. ps-sync and ps-async have one server in addition to the ranks that train. Then it runs
# allreduce and ps-async with a straggler: the last of those ranks is stopped half of the time.
#
#   RINGMASTER_BIN=build/release/bin sh bench/strategies.sh [RANKS...]
#
# STEPS=20 MODEL=resnet18 SIDE=64 BATCH=8: what each run trains, on synthetic pictures.
set -eu
ringtrain=${RINGMASTER_BIN:?names the folder of the programs}/ringtrain
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
port=$((21000 + $$ % 20000))
unset OMPI_COMM_WORLD_SIZE TORCHELASTIC_RUN_ID 2>/dev/null || :

slow=none

# one NAME SIZE FLAGS...: trains over TCP with rank $slow slow, and adds the figures at the end of
# rank 0's log to $work/NAME.
one() {
    name=$1 size=$2
    shift 2
    port=$((port + 1))
    rank=$size
    pids=
    while [ "$rank" -gt 0 ]; do
        rank=$((rank - 1))
        env RANK="$rank" WORLD_SIZE="$size" LOCAL_RANK="$rank" LOCAL_WORLD_SIZE="$size" \
            MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" timeout 600 \
            sh "$here/../tests/system/slow_rank.sh" "$slow" "$ringtrain" train --data synthetic \
            --model "${MODEL:-resnet18}" --image-size "${SIDE:-64}" --batch-size "${BATCH:-8}" \
            --threads 1 --data-threads 1 --steps "${STEPS:-20}" --validation none \
            --checkpoint-every 10h --model-dir "$work/model" \
            --checkpoint-dir "$work/checkpoints" --resume none "$@" >"$work/out.$rank" 2>&1 &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || { cat "$work"/out.*; exit 1; }
    done
    sed -n \
    's/.*of training, \([0-9.]*\) % of it waiting for other ranks, \([0-9.]*\) images.*/\2 \1/p' \
        "$work/out.0" >>"$work/$name"
}
# middle FILE COLUMN
middle() { cut -d' ' -f"$2" "$1" | sort -n | sed -n 2p; }

[ $# -gt 0 ] || set -- 2 4
for ranks in "$@"; do
    for _ in 1 2 3; do
        one "allreduce.$ranks" "$ranks"
        one "sharded.$ranks" "$ranks" --strategy sharded
        one "ps-sync.$ranks" $((ranks + 1)) --strategy ps-sync --servers 1
        one "local-sgd.$ranks" "$ranks" --strategy local-sgd
        one "ps-async.$ranks" $((ranks + 1)) --strategy ps-async --servers 1
        slow=$((ranks - 1))
        one "allreduce, one slow.$ranks" "$ranks"
        one "ps-async, one slow.$ranks" $((ranks + 1)) --strategy ps-async --servers 1
        slow=none
    done
    for strategy in allreduce sharded ps-sync local-sgd ps-async \
        "allreduce, one slow" "ps-async, one slow"; do
        echo "$ranks ranks, $strategy: $(middle "$work/$strategy.$ranks" 1) images/s, $(
            middle "$work/$strategy.$ranks" 2) % waiting"
    done
done
