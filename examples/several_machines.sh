#!/bin/sh
# Runs one job on several machines without any platform: run the same command on each of them, in
# any order, within ten minutes.
#
#   sh examples/several_machines.sh HOSTS DATA [FLAGS...]
#
#   HOSTS   every machine, by name or address: 10.0.0.1,10.0.0.2 (a:2 gives a two ranks)
#   DATA    a folder that is the same on all machines: class folders, or train/ and val/ with them
#   FLAGS   for ringtrain: --model resnet50 --epochs 90 ...
#
# GPUS=all gives the container the machine's GPUs, and the job a rank for each of them;
# GPUS='"device=0,1"' gives it two. RINGMASTER_IMAGE must then name an image with CUDA.
#
# All machines need the same image (docker save, docker load, or a registry), or a shared secret of
# at least 16 bytes in RINGMASTER_KEY. The machines reach each other on the TCP ports 7070 to 7073
# and from 7086 on, 64 of them or 8 per rank (RINGMASTER_PORT moves them all). Model and checkpoints
# are written to ./ringmaster-out.
set -eu

[ $# -ge 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64; }
hosts=$1
data=$(cd "$2" && pwd)
shift 2
out=$PWD/ringmaster-out
mkdir -p "$out/model" "$out/checkpoints" "$out/output"

exec docker run --rm --network host --shm-size 1g --stop-timeout 120 ${GPUS:+--gpus "$GPUS"} \
    --env RINGMASTER_HOSTS="$hosts" --env RINGMASTER_KEY --env RINGMASTER_HOST \
    --volume "$data:/data:ro" --volume "$out/model:/opt/ml/model" \
    --volume "$out/checkpoints:/opt/ml/checkpoints" --volume "$out/output:/opt/ml/output" \
    "${RINGMASTER_IMAGE:-ringmaster:latest}" train --data /data "$@"
