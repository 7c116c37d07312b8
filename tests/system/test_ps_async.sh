#!/bin/sh
# Parameters on the last of three hosts (--strategy ps-async): one of the hosts that train is slow, and training comes as
# far as with allreduce; how many pictures a second each of them sees is told, not judged. A stop ends all with one
# code and a checkpoint.
# shellcheck disable=SC2034,SC2154  # variables for servers.sh, and of lib.sh
. "$(dirname "$0")/lib.sh"

[ -x "$RINGMASTER_BIN/ringtrain" ] || skip "$RINGMASTER_BIN/ringtrain is not built"
# Where containers are hosts, they have their own.
trainer=$RINGMASTER_BIN/ringtrain
[ "$DRIVER" = ns ] || trainer=ringtrain

# trains NAME FLAGS...: a rank a host; that of host 2 stands still half of the time.
trains() {
    name=$1
    shift
    mkdir -m 1777 "$share/$name"
    cp "$system/slow_rank.sh" "$share/slow_rank.sh"
    [ -d "$share/shapes" ] || "$RINGMASTER_BIN/ringtrain" prepare shapes "$share/shapes" --train 64 --validation 8 \
        --classes 4 --side 40 >/dev/null
    start_all -- ringmaster train -- sh "$share/slow_rank.sh" 1 "$trainer" train \
        --data "$share/shapes" --model resnet20 --batch-size 8 --threads 1 --data-threads 1 --validation none \
        --augment center --flip false --lr 0.2 --warmup-epochs 1 --log metrics --report-every 1 --comm tcp \
        --model-dir "$share/$name/model" --checkpoint-dir "$share/$name/steps" "$@"
}
# The mean loss of the last twelve steps, and what the log says of speed.
loss() { hosts log 1 | sed -n 's/.*train step=.* loss=\([0-9.]*\) .*/\1/p' | tail -n 12 | awk '{ s += $1 } END { print s / NR }'; }
speed() { hosts log 1 | sed -n 's/.* of it waiting for other ranks, \([0-9.]*\) images.*/\1/p'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' || { echo "  $1 is not less than $2"; return 1; }; }

a_slow_host_learns_with_the_others() {
    ring 2
    trains together --steps 100
    all_end "$PATIENCE" 0 $everyone || return
    together=$(loss) told=$(speed)
    ring 3
    trains apart --steps 100 --strategy ps-async --server-hosts 1
    all_end "$PATIENCE" 0 $everyone || return
    apart=$(loss)
    echo "  one of two workers slow: allreduce $told images/s, loss $together; ps-async $(speed) images/s, loss $apart"
    check "allreduce learns" less "$together" 1
    check "ps-async learns" less "$apart" 1
    check "as far" less "$apart" "$(awk -v a="$together" 'BEGIN { print a + 0.5 }')"
}

strategy=ps-async stopped_host=2
. "$system/servers.sh"

CASES=${CASES:-a_slow_host_learns_with_the_others a_stop_ends_servers_and_workers a_lost_server_ends_the_attempt}
run_cases
finish
