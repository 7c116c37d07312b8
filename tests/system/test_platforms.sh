#!/bin/sh
# Jobs whose hosts learn each other's names from the variables of other platforms than SageMaker, as
# those platforms write them. None of them runs here: what their schedulers do besides is not tried.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

place='echo "place $WHO $RANK/$WORLD_SIZE"'

# bare N: hosts without a word of SageMaker's.
bare() {
    ring "$@"
    for host in $everyone; do rm "$(hosts opt "$host")/input/config/resourceconfig.json"; done
}

# start_one HOST [-e NAME=VALUE]...
start_one() {
    one=$1
    shift
    hosts start "$one" -e "WHO=algo-$one" "$@" -- train -- sh -c "$place"
}

# all_have_places FIRST WORLD: the job ends well, rank 0 is on FIRST, and every host has a rank.
all_have_places() {
    all_end 60 0 $everyone || return
    check "rank 0 is on host $1" holds "$(hosts log "$1")" "place algo-$1 0/$2"
    for host in $everyone; do
        check "host $host has a rank of $2" holds "$(hosts log "$host")" "place algo-$host "
    done
}

slurm() {
    bare 3
    for host in $everyone; do
        start_one "$host" -e 'SLURM_STEP_NODELIST=algo-[1-3]' -e "SLURM_NODEID=$((host - 1))" \
            -e SLURM_STEP_NUM_TASKS=3 -e SLURM_JOB_ID=17
    done
    all_have_places 1 3
}

# Two tasks on a node would be two masters on a machine.
slurm_with_too_many_tasks() {
    bare 1
    start_one 1 -e 'SLURM_STEP_NODELIST=algo-[1-2]' -e SLURM_NODEID=0 -e SLURM_STEP_NUM_TASKS=4
    all_end 30 65 1
    all_name 'ntasks-per-node=1' 1
}

# The master is not the first by name.
azure_batch() {
    bare 3
    for host in $everyone; do
        start_one "$host" -e AZ_BATCH_HOST_LIST=10.77.0.1,10.77.0.2,10.77.0.3 \
            -e AZ_BATCH_MASTER_NODE=10.77.0.2:6000
    done
    all_have_places 2 3
}

skypilot() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e 'SKYPILOT_NODE_IPS=10.77.0.2 10.77.0.1' -e "SKYPILOT_NODE_RANK=$((2 - host))" -e SKYPILOT_NUM_GPUS_PER_NODE=2
    done
    all_have_places 2 4
}

vertex() {
    bare 2
    for host in $everyone; do
        pools='"workerpool0":["algo-1:2222"],"workerpool1":["algo-2:2222"]'
        task='"type":"workerpool'$((host - 1))'","index":0'
        start_one "$host" -e "CLUSTER_SPEC={\"cluster\":{$pools},\"task\":{$task}}"
    done
    all_have_places 1 2
}

# A Kubernetes Indexed Job, whose manifest knows name and count.
numbers_in_brackets() {
    bare 3
    for host in $everyone; do
        start_one "$host" -e 'RINGMASTER_HOSTS=algo-[1-3]:2' -e "RINGMASTER_HOST=algo-$host"
    done
    all_have_places 1 6
}

two_platforms_at_once() {
    bare 1
    start_one 1 -e 'SLURM_STEP_NODELIST=algo-[1-2]' -e SLURM_NODEID=0 \
        -e SKYPILOT_NODE_IPS='10.77.0.1 10.77.0.2' -e SKYPILOT_NODE_RANK=0
    all_end 30 65 1
    all_name 'RINGMASTER_PLATFORM=slurm or skypilot' 1
}

CASES=${CASES:-slurm slurm_with_too_many_tasks azure_batch skypilot vertex numbers_in_brackets
    two_platforms_at_once}
run_cases
finish
