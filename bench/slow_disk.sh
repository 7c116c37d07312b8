#!/bin/sh
# Measures shards beside a folder of small files on a slow disk: a file system in a file, mounted
# anew for each turn so that nothing is cached, on a loop device with reads that the kernel limits
# to the speed of a hard disk. Prints images per second of one pass, and the ratios of the medians.
# It needs root and the blkio controller of control groups version 1.
#
#     RINGMASTER_DATA=DIR sh bench/slow_disk.sh
#     SET=DIR IOPS=120 RATE=120000000 ROUNDS=3      the set, reads and bytes per second, turns
set -eu
cd "$(dirname "$0")/.."
PRESET=${PRESET:-release}
IOPS=${IOPS:-120}
RATE=${RATE:-120000000}
ROUNDS=${ROUNDS:-3}
program=build/$PRESET/bench/bench_decode
ringtrain=build/$PRESET/bin/ringtrain
groups=/sys/fs/cgroup/blkio
[ "$(id -u)" = 0 ] || { echo "slow_disk.sh: for root alone" >&2; exit 1; }
[ -e $groups/blkio.throttle.read_iops_device ] || {
    echo "slow_disk.sh: there is no $groups" >&2
    exit 1
}
# Runs in a mount namespace of its own: a copy of the mount in another one would keep the cache.
[ -n "${SLOW_DISK_MOUNTS:-}" ] || SLOW_DISK_MOUNTS=own exec unshare -m sh bench/slow_disk.sh
set=${SET:-${RINGMASTER_DATA:?names the folder with imagenet-sample}/imagenet-sample}
. bench/priority.sh
work=$(mktemp -d)
group=$groups/slow-disk-$$
mkdir "$group" "$work/disk"
finish() {
    priority_end
    umount "$work/disk" 2>/dev/null || :
    rmdir "$group" 2>/dev/null || :
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

truncate -s "${SIZE:-2G}" "$work/image"
mkfs.ext4 -q "$work/image"
attach() { mount -o loop,noatime "$work/image" "$work/disk"; }
attach
"$ringtrain" prepare folder "$set" "$work/disk/folder" --resize 256 --format folder >/dev/null 2>&1
"$ringtrain" prepare folder "$set" "$work/disk/shards" --resize 256 --shards 4 >/dev/null 2>&1
find "$work/disk/folder" -type f -name '*.*' ! -name '.*' | wc -l |
    awk -v iops="$IOPS" -v rate="$RATE" \
        '{ print $1 " files; " iops " reads and " rate / 1e6 " MB a second" }'
umount "$work/disk"

# turn NAME SET WORD...: adds one measurement to NAME.
turn() {
    name=$1 from=$2
    shift 2
    attach
    device=$(mountpoint -d "$work/disk")
    echo "$device $IOPS" >"$group/blkio.throttle.read_iops_device"
    echo "$device $RATE" >"$group/blkio.throttle.read_bps_device"
    # shellcheck disable=SC2016  # for the shell below
    sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$group" \
        $PRIORITY "$program" --loader "$work/disk/$from" 2 epoch "$@" >>"$work/$name.figures"
    umount "$work/disk"
}
round=0
while [ "$round" -lt "$ROUNDS" ]; do
    turn folder folder/train
    turn shards shards
    turn lanes shards lanes
    round=$((round + 1))
done
median() { sort -n "$work/$1.figures" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for name in folder shards lanes; do
    sort -n "$work/$name.figures" | awk -v name="$name" -v median="$(median "$name")" \
        -v folder="$(median folder)" '
        NR == 1 { least = $1 } { most = $1 }
        END { printf "%-8s %8.1f images/s (%.1f to %.1f), %.2f of folder\n",
                  name, median, least, most, median / folder }'
done
