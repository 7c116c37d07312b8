#!/bin/sh
# Tests jobs whose hosts learn each other's names from the variables of platforms other than
# SageMaker, in the form that those platforms set them. No such platform runs here: what else its
# scheduler does is not tested.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

place='echo "place $WHO $RANK/$WORLD_SIZE at $MASTER_ADDR"'

# bare N [up's options]: a ring of hosts without SageMaker's resourceconfig.json.
net=10.77.0. family=
bare() {
    ring "$@"
    for host in $everyone; do rm "$(hosts opt "$host")/input/config/resourceconfig.json"; done
}

# start_one HOST [-e NAME=VALUE]...: starts the host; its ranks print their places.
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
    all_end "$PATIENCE" 65 1
    all_name 'ntasks-per-node=1' 1
}

# The master is not the first host by name.
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
        start_one "$host" -e 'SKYPILOT_NODE_IPS=10.77.0.2 10.77.0.1' \
            -e "SKYPILOT_NODE_RANK=$((2 - host))" -e SKYPILOT_NUM_GPUS_PER_NODE=2
    done
    all_have_places 2 4
}

# The master is the second host by name and by index.
dstack() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e 'DSTACK_NODES_IPS=10.77.0.1 10.77.0.2' \
            -e "DSTACK_NODE_RANK=$((host - 1))" -e DSTACK_NODES_NUM=2 \
            -e DSTACK_MASTER_NODE_IP=10.77.0.2 -e DSTACK_GPUS_PER_NODE=2
    done
    all_have_places 2 4
}

# Volcano names pods after their tasks; the first pod by name, of all tasks, is the master.
volcano() {
    bare 3
    for host in $everyone; do
        start_one "$host" -e VC_MASTER_HOSTS=algo-3 -e VC_MASTER_NUM=1 \
            -e VC_WORKER_HOSTS=algo-2,algo-1 -e VC_WORKER_NUM=2 -e "VC_TASK_INDEX=$((host % 2))"
    done
    all_have_places 1 3
}

# machine_file VARIABLE TEXT [-e NAME=VALUE]...: starts two hosts with the file that a batch system
# leaves on every host.
machine_file() {
    variable=$1 text=$2
    shift 2
    bare 2
    for host in $everyone; do
        printf '%b' "$text" >"$(hosts opt "$host")/machines"
        start_one "$host" -e "$variable=/opt/ml/machines" "$@"
    done
}
# LSF's file has one line for each slot.
lsf() {
    machine_file LSB_DJOB_HOSTFILE 'algo-2\nalgo-2\nalgo-1\n' -e LSB_JOBID=7 \
        -e 'LSB_HOSTS=algo-2 algo-2 algo-1'
    all_have_places 2 3
}
pbs() {
    machine_file PBS_NODEFILE 'algo-1\nalgo-1\nalgo-2\nalgo-2\n' -e PBS_JOBID=12.server \
        -e PBS_NUM_NODES=2
    all_have_places 1 4
}

# Of the MPI operator's pods only the launcher has these variables by default. It may be a host,
# too; a launcher that is not must not run the job by itself.
mpi_operator() {
    machine_file OMPI_MCA_orte_default_hostfile 'algo-1 slots=2\nalgo-2 slots=2\n' \
        -e OMPI_MCA_orte_set_default_slots=2 -e OMPI_MCA_orte_keep_fqdn_hostnames=true
    all_have_places 1 4
    bare 1
    echo 'algo-2 slots=2' >"$(hosts opt 1)/machines"
    start_one 1 -e OMPI_MCA_orte_default_hostfile=/opt/ml/machines \
        -e OMPI_MCA_orte_set_default_slots=2
    all_end "$PATIENCE" 65 1
    all_name runLauncherAsWorker 1
}

# The chief is the second host; a parameter server takes no part.
tensorflow() {
    cluster='"cluster":{"chief":["algo-2:2222"],"worker":["algo-1:2222"],"ps":["algo-3:2222"]}'
    bare 2
    start_one 1 -e "TF_CONFIG={$cluster,\"task\":{\"type\":\"worker\",\"index\":0}}"
    start_one 2 -e "TF_CONFIG={$cluster,\"task\":{\"type\":\"chief\",\"index\":0}}"
    all_have_places 2 2
    bare 1
    start_one 1 -e "TF_CONFIG={$cluster,\"task\":{\"type\":\"ps\",\"index\":0}}"
    all_end "$PATIENCE" 65 1
    all_name '"ps" takes no part' 1
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

# This is a Kubernetes Indexed Job; its manifest has the hosts' name and count.
numbers_in_brackets() {
    bare 3
    for host in $everyone; do
        start_one "$host" -e 'RINGMASTER_HOSTS=algo-[1-3]:2' -e "RINGMASTER_HOST=algo-$host"
    done
    all_have_places 1 6
}

# The host file has mpirun's format.
a_host_file() {
    bare 2
    for host in $everyone; do
        printf '# ours\nalgo-2 slots=2 max_slots=4\nalgo-1:1\n' >"$(hosts opt "$host")/hosts"
        start_one "$host" -e RINGMASTER_HOSTS=file:///opt/ml/hosts -e "RINGMASTER_HOST=algo-$host"
    done
    all_have_places 1 3
    bare 1
    echo 'algo-1 slots=2 cpus=8' >"$(hosts opt 1)/hosts"
    start_one 1 -e RINGMASTER_HOSTS=file:///opt/ml/hosts
    all_end "$PATIENCE" 65 1
    all_name '"cpus=8" after a host' 1
}

# The main node is the second, and every node has its own job ID.
aws_batch() {
    bare 3
    for host in $everyone; do
        set -- -e AWS_BATCH_JOB_NUM_NODES=3 -e "AWS_BATCH_JOB_NODE_INDEX=$((host - 1))" \
            -e AWS_BATCH_JOB_MAIN_NODE_INDEX=1 -e "AWS_BATCH_JOB_ID=0f3c-55#$((host - 1))"
        [ "$host" = 2 ] || set -- "$@" -e AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.77.0.2
        start_one "$host" "$@"
    done
    all_have_places 2 3
    check "ranks are told where the master is" holds "$(hosts log 3)" 'at 10.77.0.2'
}

# Two hosts with the same index do not count as one.
aws_batch_with_an_index_twice() {
    bare 3
    for host in $everyone; do
        index=$((host - 1))
        [ "$host" != 3 ] || index=1
        start_one "$host" -e RINGMASTER_READY_SECONDS=10 -e AWS_BATCH_JOB_NUM_NODES=3 \
            -e "AWS_BATCH_JOB_NODE_INDEX=$index" -e AWS_BATCH_JOB_MAIN_NODE_INDEX=0 \
            -e AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.77.0.1
    done
    check "they end" hosts wait 60 $everyone || return
    check "the master misses one" equal "$(hosts code 1)" 69
    check "and says which" holds "$(failure_of 1)" 'node-2'
}

kubeflow() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e PET_NNODES=2 -e "PET_NODE_RANK=$((host - 1))" \
            -e PET_MASTER_ADDR=algo-1 -e PET_NPROC_PER_NODE=2
    done
    all_have_places 1 4
}

azure_ml() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e AZUREML_NODE_COUNT=2 -e "NODE_RANK=$((host - 1))" \
            -e MASTER_ADDR=10.77.0.1 -e MASTER_PORT=6105
    done
    all_have_places 1 2
    bare 2
    for host in $everyone; do
        start_one "$host" -e AZUREML_NODE_COUNT=2 -e "NODE_RANK=$((host - 1))" \
            -e AZ_BATCH_MASTER_NODE=10.77.0.1:6000
    done
    all_have_places 1 2
}

runpod() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e NUM_NODES=2 -e "NODE_RANK=$((host - 1))" -e PRIMARY_ADDR=10.77.0.1 \
            -e NUM_TRAINERS=2
    done
    all_have_places 1 4
}

# asked PLATFORM COUNT INDEX: many platforms use these variables, so RINGMASTER_PLATFORM names one.
asked() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e "RINGMASTER_PLATFORM=$1" -e "$2=2" -e "$3=$((host - 1))" \
            -e MASTER_ADDR=algo-1 -e MASTER_PORT=23456
    done
    all_have_places 1 2
}
platforms_that_are_asked_for() {
    asked torch NNODES NODE_RANK
    asked pytorchjob WORLD_SIZE RANK
    asked pai-dlc WORLD_SIZE RANK
}

# This platform is recognised by NPROC_PER_NODE; without it, it has to be named (above).
pai_dlc() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e WORLD_SIZE=2 -e "RANK=$((host - 1))" -e MASTER_ADDR=algo-1 \
            -e MASTER_PORT=23456 -e NPROC_PER_NODE=2
    done
    all_have_places 1 4
}

# pods NAME COUNT [-e NAME=VALUE]...: runs the pods of an Indexed Job, with the host names and the
# hosts file that a kubelet gives them.
pods() {
    pod=$1 pods=$2
    shift 2
    # shellcheck disable=SC2086  # words
    bare "$pods" $family
    for host in $everyone; do
        echo "$net$host $pod-$((host - 1)).ring.default.svc.cluster.local $pod-$((host - 1))" \
            >>"$RING/hosts"
        hosts start "$host" -e "WHO=algo-$host" "$@" -e "JOB_COMPLETION_INDEX=$((host - 1))" \
            -p "hostname '$pod-$((host - 1))'" -- train -- sh -c "$place"
    done
    all_have_places 1 "$pods"
    check "names are whole" holds "$(hosts log 2)" "[$pod-1.ring.default.svc.cluster.local rank 1]"
}

# manifest NAME FILE: runs the pods of an example, with the variables and the count of its manifest.
manifest() {
    file=$top/examples/kubernetes/$2
    count=$(sed -n 's/^ *completions: //p' "$file")
    check "$2: as many at a time as in all" equal "$(sed -n 's/^ *parallelism: //p' "$file")" \
        "$count"
    # shellcheck disable=SC2046  # words
    pods "$1" "$count" $(awk '/- name: [A-Z_]+$/ { name = $3 }
        /^ *value: / && name != "" {
            gsub("\"", "", $2); print "-e " name "=" $2; name = "" }' "$file")
    check "$2: the job has the name that stands there" holds "$(hosts log 1)" 'job train'
}
kubernetes() {
    [ "$DRIVER" = ns ] || { skip_case "a container may not change its host name"; return; }
    place="$place; echo \"job \$SAGEMAKER_JOB_NAME\""
    manifest train indexed-job.yaml
    manifest train-workers-0 jobset.yaml
}

# Runs the example's job definition with the variables that AWS Batch adds.
the_batch_example() {
    file=$top/examples/aws-batch/job-definition.json
    command -v python3 >/dev/null && check "it is JSON" python3 -m json.tool "$file" /dev/null
    count=$(sed -n 's/.*"numNodes": \([0-9]*\),/\1/p' "$file")
    check "one range of nodes is all of them" grep -q "\"targetNodes\": \"0:$((count - 1))\"" \
        "$file"
    bare "$count"
    for host in $everyone; do
        # shellcheck disable=SC2046  # words
        start_one "$host" $(sed -n \
            's/.*"name": "\(RINGMASTER_[A-Z_]*\)", "value": "\(.*\)".*/-e \1=\2/p' "$file") \
            -e "AWS_BATCH_JOB_NUM_NODES=$count" -e "AWS_BATCH_JOB_NODE_INDEX=$((host - 1))" \
            -e "AWS_BATCH_JOB_MAIN_NODE_INDEX=$(
                sed -n 's/.*"mainNode": \([0-9]*\),/\1/p' "$file")" \
            -e AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.77.0.1
    done
    all_have_places 1 "$count"
}

# Runs the example's batch script with a stand-in for srun, which only records its arguments. The
# test itself then starts a job on as many hosts as the script asks for, with the script's variables
# and those that Slurm adds.
the_slurm_example() {
    file=$top/examples/slurm.sbatch
    count=$(sed -n 's/^#SBATCH --nodes=//p' "$file")
    bare "$count"
    mkdir "$RING/bin" "$RING/user"
    cat >"$RING/bin/srun" <<'END'
#!/bin/sh
env | grep ^RINGMASTER_ >"$STAND_IN/variables"
printf '%s\n' "$@" >"$STAND_IN/words"
END
    chmod +x "$RING/bin/srun"
    for run in first second; do
        (unset RINGMASTER_KEY_FILE RINGMASTER_STOP_SECONDS
            STAND_IN=$RING HOME=$RING/user PATH=$RING/bin:$PATH sh "$file" "/data/all pictures" \
                --model resnet18)
        check "the script ends well" equal $? 0
        key=$(cat "$RING/user/ringmaster.key")
        check "its key is a key" at_least "${#key}" 48
        check "it is its user's alone" equal "$(stat -c %a "$RING/user/ringmaster.key")" 600
        [ $run = first ] || check "the second job has the same one" equal "$key" "$first"
        first=$key
    done
    words=$(cat "$RING/words")
    check "a task a node, as it asks for" equal \
        "$(grep -c '^--ntasks-per-node=1$' "$RING/words") $(
            sed -n 's/^#SBATCH --ntasks-per-node=//p' "$file")" "1 1"
    check "a node that fails leaves the others to ringmaster" holds "$words" '--kill-on-bad-exit=0'
    check "the data and the key are in the container" holds "$words" \
        "--container-mounts=/data/all pictures:/data/all pictures:ro,$RING/user/ringmaster.key:$RING/user/ringmaster.key:ro"
    check "its words come whole" equal "$(sed '1,/^--container-mounts=/d' "$RING/words")" "train
--data
/data/all pictures
--model
resnet18"
    check "the key's place is logged" holds "$(cat "$RING/variables")" \
        "RINGMASTER_KEY_FILE=$RING/user/ringmaster.key"
    stop=$(sed -n 's/^RINGMASTER_STOP_SECONDS=//p' "$RING/variables")
    check "a stop has less than the script's signal leaves" at_most "$((stop + 10))" \
        "$(sed -n 's/^#SBATCH --signal=TERM@//p' "$file")"
    for host in $everyone; do
        cp "$RING/user/ringmaster.key" "$(hosts opt "$host")/key"
        chmod 644 "$(hosts opt "$host")/key"
        start_one "$host" -e "SLURM_STEP_NODELIST=algo-[1-$count]" -e "SLURM_NODEID=$((host - 1))" \
            -e SLURM_JOB_ID=17 -e "SLURM_STEP_NUM_TASKS=$count" -e RINGMASTER_KEY_FILE=/opt/ml/key \
            -e "RINGMASTER_STOP_SECONDS=$stop"
    done
    all_have_places 1 "$count"
}

# Runs a job of each kind on hosts that have only IPv6 addresses: hosts listed by address, a master
# given by address, and names by a pattern.
hosts_of_ipv6() {
    [ "$DRIVER" = ns ] || { skip_case "a ring of containers has IPv4"; return; }
    [ -e /proc/net/if_inet6 ] || { skip_case "this kernel has no IPv6"; return; }
    bare 3 --network ipv6
    for host in $everyone; do
        start_one "$host" -e AZ_BATCH_HOST_LIST=fd00:77::1,fd00:77::2,fd00:77::3 \
            -e 'AZ_BATCH_MASTER_NODE=[fd00:77::2]:6000'
    done
    all_have_places 2 3
    bare 2 --network ipv6
    for host in $everyone; do
        start_one "$host" -e 'SKYPILOT_NODE_IPS=fd00:77::2 fd00:77::1' \
            -e "SKYPILOT_NODE_RANK=$((2 - host))"
    done
    all_have_places 2 2
    check "ranks are told where the master is" holds "$(hosts log 1)" 'at fd00:77::2'
    for master in fd00:77::1 '[fd00:77::1]:29400'; do
        bare 3 --network ipv6
        for host in $everyone; do
            start_one "$host" -e PET_NNODES=3 -e "PET_NODE_RANK=$((host - 1))" \
                -e "PET_MASTER_ADDR=$master" -e PET_NPROC_PER_NODE=2
        done
        all_have_places 1 6
    done
    bare 2 --network ipv6
    for host in $everyone; do
        start_one "$host" -e WORLD_SIZE=2 -e "RANK=$((host - 1))" -e MASTER_ADDR=fd00:77::1 \
            -e NPROC_PER_NODE=1
    done
    all_have_places 1 2
    check "they are, where hosts are counted" holds "$(hosts log 2)" 'at fd00:77::1'
    net=fd00:77:: family='--network ipv6'
    pods train 3 -e RINGMASTER_COUNT=3
    net=10.77.0. family=
}

two_platforms_at_once() {
    bare 1
    start_one 1 -e 'SLURM_STEP_NODELIST=algo-[1-2]' -e SLURM_NODEID=0 \
        -e SKYPILOT_NODE_IPS='10.77.0.1 10.77.0.2' -e SKYPILOT_NODE_RANK=0
    all_end "$PATIENCE" 65 1
    all_name 'RINGMASTER_PLATFORM=slurm or skypilot' 1
}

# LSF gives 10 s between SIGTERM and SIGKILL: programs get 8 of them, or as many as
# RINGMASTER_STOP_SECONDS says.
a_stop_ends_before_the_platform_kills() {
    for seconds_told in '' 2; do
        bare 2
        for host in $everyone; do
            printf 'algo-1\nalgo-2\n' >"$(hosts opt "$host")/machines"
            hosts start "$host" -e LSB_DJOB_HOSTFILE=/opt/ml/machines \
                -e "RINGMASTER_STOP_SECONDS=$seconds_told" -- train -- \
                sh -c 'trap "" TERM; echo ready; while :; do sleep 0.2; done'
        done
        for host in $everyone; do
            check "host $host is ready" wait_for "$PATIENCE" says $host ready
        done
        fault_begins
        hosts stop 2
        all_end "$PATIENCE" 143 $everyone || return
        within $((${seconds_told:-8} * 1000 + LEAVE_MS)) $everyone
        check "programs had their time" at_most $((${seconds_told:-8} * 1000 - 500)) "$took"
    done
}

# Slurm requeues a job under the same job ID. A host that is left over from an earlier run is
# refused.
an_attempt_is_the_platform_s() {
    bare 2
    for host in $everyone; do
        start_one "$host" -e 'SLURM_STEP_NODELIST=algo-[1-2]' -e "SLURM_NODEID=$((host - 1))" \
            -e SLURM_JOB_ID=17 -e SLURM_RESTART_COUNT=1
    done
    all_have_places 1 2
    every_log_has 'the platform has started this job again'
    bare 2
    for host in $everyone; do
        start_one "$host" -e 'SLURM_STEP_NODELIST=algo-[1-2]' -e "SLURM_NODEID=$((host - 1))" \
            -e SLURM_JOB_ID=17 -e "SLURM_RESTART_COUNT=$host" -e RINGMASTER_READY_SECONDS=10
    done
    all_end "$PATIENCE" 77 $everyone
    all_name 'another key' 1
}

# Every platform that ringmaster knows has a job in this script.
every_platform_has_a_job() {
    for platform in \
        $("$RINGMASTER_BIN/ringmaster" docs platforms | sed -nE 's/^\| `([a-z-]+)` .*/\1/p'); do
        check "a case for $platform" grep -qE \
            "^$(echo "$platform" | tr - _)\(\)|^ +asked $platform " "$0"
    done
}

CASES=${CASES:-slurm slurm_with_too_many_tasks azure_batch skypilot dstack volcano lsf pbs
    mpi_operator tensorflow vertex numbers_in_brackets a_host_file aws_batch
    every_platform_has_a_job a_stop_ends_before_the_platform_kills an_attempt_is_the_platform_s
    aws_batch_with_an_index_twice kubeflow azure_ml runpod pai_dlc platforms_that_are_asked_for
    kubernetes hosts_of_ipv6 the_batch_example the_slurm_example two_platforms_at_once}
run_cases
finish
