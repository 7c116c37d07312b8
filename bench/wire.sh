#!/bin/sh
# Measures ways to sum gradients over TCP: plain, hierarchical (within hosts, between them, and
# back), with f16 and bf16 on the wire, and with buckets of 1, 4, 25 and 64 MiB. It runs 2, 4 and 8
# ranks on two hosts, which are network namespaces of this machine (root), and then the same over a
# link of 1 Gbit/s between the hosts. Ratios are to the plain sum in the same run: above 1 is
# faster.
#
#   RINGMASTER_BIN=build/release/bin sh bench/wire.sh [RANKS...]
#
# LINKS="none 1gbit": rate limits of the link. SIZES="1000000:20 100000000:3": bytes and rounds.
set -eu
bench=${RINGMASTER_BIN:?names the folder of the programs}/../bench/bench_wire
here=rmwire$$
clean() {
    for host in 0 1; do ip netns del "$here$host" 2>/dev/null || :; done
}
trap clean EXIT
ip netns add "${here}0"
ip netns add "${here}1"
ip link add "v0" netns "${here}0" type veth peer name "v1" netns "${here}1"
for host in 0 1; do
    ip netns exec "$here$host" ip link set lo up
    ip netns exec "$here$host" ip address add "10.93.0.$((host + 1))/24" dev "v$host"
    ip netns exec "$here$host" ip link set "v$host" up
done
port=23000

# one RANKS BYTES ROUNDS
one() {
    port=$((port + 1))
    pids=
    rank=0
    while [ "$rank" -lt "$1" ]; do
        ip netns exec "$here$((rank * 2 / $1))" env RANK="$rank" WORLD_SIZE="$1" \
            LOCAL_RANK=$((rank % ($1 / 2))) LOCAL_WORLD_SIZE=$(($1 / 2)) MASTER_ADDR=10.93.0.1 \
            MASTER_PORT="$port" timeout 300 "$bench" "$2" "$3" 2 &
        pids="$pids $!"
        rank=$((rank + 1))
    done
    for pid in $pids; do wait "$pid"; done
}
[ $# -gt 0 ] || set -- 2 4 8
for link in ${LINKS:-none 1gbit}; do
    [ "$link" = none ] || for host in 0 1; do
        ip netns exec "$here$host" tc qdisc add dev "v$host" root tbf rate "$link" burst 256kb \
            latency 50ms
    done
    for ranks in "$@"; do
        for size in ${SIZES:-1000000:20 100000000:3}; do
            one "$ranks" "${size%:*}" "${size#*:}" | sed "s/^/link=$link /"
        done
    done
done
