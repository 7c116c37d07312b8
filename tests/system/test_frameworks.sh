#!/bin/sh
# Tests the Dockerfiles of examples/pytorch, jax, lightning and mpi, with the static launcher in the
# images, as jobs of three containers. Runs only in `sh tests/run.sh long`, or with CASES, as the
# compiler, the base image and the frameworks come from the network.
#
# Where python:3.12-slim cannot be pulled, an image of Debian 13 with its own Python and PyTorch is
# built under that name.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] || {
    echo "skipped: takes many minutes: sh tests/run.sh long"
    exit 77
}
DRIVER=docker RINGMASTER_IMAGE=${RINGMASTER_IMAGE:-python:3.12-slim}
export DRIVER RINGMASTER_IMAGE
top=$(cd "$(dirname "$0")/../.." && pwd)
docker version >/dev/null 2>&1 || {
    [ -z "${RINGMASTER_ENGINE:-}" ] || { echo "skipped: no Docker engine"; exit 77; }
    exec env RINGMASTER_ENGINE=own sh "$top/docker/engine.sh" sh "$0"
}

base() {
    docker image inspect python:3.12-slim >/dev/null 2>&1 && return
    timeout 300 docker pull -q python:3.12-slim >/dev/null 2>&1 && return
    sh "$top/docker/base.sh" trixie || return
    work=$(mktemp -d)
    # A network with a proxy has certificates of its own, which this machine has, too.
    cp "${RINGMASTER_CA:-/etc/ssl/certs/ca-certificates.crt}" "$work/ca.pem"
    cat >"$work/Dockerfile" <<END
FROM debian:trixie-slim
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends \
    ca-certificates python3 python3-pip python3-torch
COPY ca.pem /etc/ssl/certs/ca-certificates.crt
RUN rm /usr/lib/python3*/EXTERNALLY-MANAGED
# Debian's PyTorch is built without libuv, which is asked for unless told otherwise.
ENV USE_LIBUV=0
END
    docker build --network host --tag python:3.12-slim "$work" >"$work/log" 2>&1 ||
        tail -n 5 "$work/log"
    rm -rf "$work"
    docker image inspect python:3.12-slim >/dev/null 2>&1
}
base || { echo "skipped: no way to a base with Python"; exit 77; }
. "$(dirname "$0")/lib.sh"
sh "$top/docker/static.sh" || { echo "FAILED: docker/static.sh"; exit 1; }

# image_of EXAMPLE: builds EXAMPLE's Dockerfile, with the launcher beside it.
image_of() {
    image=ringmaster-example-$1:test
    folder=$top/build/examples/$1
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$top/examples/$1"/* "$top/build/static-x86_64/bin/ringmaster" "$folder/"
    docker build --network host --tag "$image" "$folder" >"$folder.log" 2>&1 && return
    tail -n 5 "$folder.log"
    check "the image of examples/$1 is built (whole log: $folder.log)" false
}

three_of() {
    image_of "$1" || return
    again
}
again() { ring 3 --image "$image"; }

# begin HOST [-e NAME=VALUE]...: starts the image's own command, which has no blanks in its words.
begin() {
    # shellcheck disable=SC2046  # words
    hosts start "$@" -- $(docker image inspect --format '{{join .Config.Cmd " "}}' "$image")
}
begin_all() { for host in $everyone; do begin "$host" "$@"; done; }

all_say() {
    for host in $everyone; do check "host $host says '$1'" holds "$(hosts log "$host")" "$1"; done
}

pytorch() {
    three_of pytorch || return
    begin_all -e CHECKPOINT=/opt/ml/checkpoints/new/last.pt
    all_end 300 0 $everyone || return
    all_say ' of 3 begins at step 0'
    check "rank 0 learns" holds "$(hosts log 1)" 'rank 0] train step=100 loss='
    check "its checkpoint is there" test -s "$(hosts opt 1)/checkpoints/new/last.pt"

    again # one of them fails
    begin 1 -e STEPS=100000
    begin 2 -e STEPS=many
    begin 3 -e STEPS=100000
    all_end 120 1 $everyone || return
    all_name 'program: algo-2 rank 1: exited with 1' $everyone
    all_name "ValueError: invalid literal for int() with base 10: 'many'" $everyone

    again # one of them fails under @record
    begin 1 -e STEPS=100000 -e CHECKPOINT=/dev/null/last.pt
    begin 2 -e STEPS=100000
    begin 3 -e STEPS=100000
    all_end 120 1 $everyone || return
    all_name 'program: algo-1 rank 0: exited with 1' $everyone
    all_name "exception: FileExistsError: [Errno 17] File exists: '/dev/null' (/train.py, line " \
        $everyone

    again # the job is stopped
    begin_all -e STEPS=1000000
    check "it learns" wait_for 120 says 1 'train step=' || return
    hosts stop 2
    all_end 60 143 $everyone || return
    all_name 'stopped' $everyone

    again # a container is killed, and the others go on from the checkpoint
    begin_all -e STEPS=1000000 -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1
    check "it learns" wait_for 120 says 1 'train step=' || return
    hosts kill 3
    for host in 1 2; do
        check "host $host goes on" wait_for 120 says "$host" ' of 2 begins at step [1-9]' || return
    done
    hosts stop 1
    all_end 60 143 1 2
}

jax() {
    three_of jax || return
    begin_all -e JAX_PLATFORMS=cpu
    all_end 300 0 $everyone || return
    all_say ' of 3: 1 of 3 devices'
    check "rank 0 learns" holds "$(hosts log 1)" 'rank 0] train step=100 loss='
    again # two processes per host
    put hyperparameters.json '{"sagemaker_mpi_num_of_processes_per_host": "2"}'
    begin_all -e JAX_PLATFORMS=cpu
    all_end 300 0 $everyone || return
    check "the second process of the second host is there" \
        holds "$(hosts log 2)" 'process 3 of 6: 1 of 6 devices'
}

lightning() {
    three_of lightning || return
    begin_all -e OMP_NUM_THREADS=1
    all_end 300 0 $everyone || return
    for host in $everyone; do
        check "rank $((host - 1)) knows its place" \
            holds "$(hosts log "$host")" "rank $((host - 1)) of 3: loss "
    done
}

mpi() {
    three_of mpi || return
    begin_all
    all_end 120 0 $everyone || return
    all_say 'pi is 3.14159265'
    check "rank 2 is one of three" holds "$(hosts log 3)" 'rank 2 of 3 on '
}

CASES=${CASES:-mpi pytorch jax lightning}
run_cases
finish
