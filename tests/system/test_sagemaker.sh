#!/bin/sh
# Jobs in containers as SageMaker, and the local mode of versions 2 and 3 of its SDK, set them up.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# SDK 2 appends a random suffix to a job's host names, quotes hyperparameters as JSON, and names the
# program and its folder.
sdk2_with_source_dir() {
    ring 3 --suffix -plf6b
    put hyperparameters.json '{"s": "\"abc\"", "i": "7", "f": "1e-05", "t": "true", "n": "null",
        "l": "[1, 2, \"x\"]", "u": "\"\u00e9\"", "sagemaker_submit_directory": "\"/opt/ml/code\"",
        "sagemaker_program": "\"program.sh\"", "sagemaker_container_log_level": "20",
        "sagemaker_job_name": "\"job-1\"", "sagemaker_region": "\"us-east-1\""}'
    code_file program.sh 'echo "args: $*"; echo "here: $(pwd) $SM_CURRENT_HOST"'
    start_all -e TRAINING_JOB_NAME=job-1 -e AWS_SECRET_ACCESS_KEY=very-secret-words -- train
    all_end 60 0 $everyone || return
    every_log_has '-s abc'
    every_log_has '-f 1e-05'
    every_log_has '-u é'
    every_log_has '-n  -s abc'
    check "the suffix stays in the names" holds "$(hosts log 2)" '[algo-2-plf6b rank 1]'
    for host in $everyone; do
        check "sagemaker_* stay hidden on host $host" lacks "$(hosts log "$host")" '--sagemaker'
        check "no secret in the log of host $host" lacks "$(hosts log "$host")" very-secret-words
    done
}

# A generic Estimator of SDK 2 passes hyperparameters as Python's str() prints them.
sdk2_generic() {
    ring 2 --suffix -a1b2c
    put hyperparameters.json '{"s": "abc", "i": "7", "f": "1e-05", "t": "True",
        "sagemaker_program": "program.sh"}'
    code_file program.sh 'echo "args: $*"'
    start_all -- train
    all_end 60 0 $everyone || return
    every_log_has '-t True'
    every_log_has '-i 7'
}

# Every job of SDK 3 names a network interface that does not exist. A job without a command runs
# `train`.
sdk3() {
    ring 2 --interface ethwe
    put hyperparameters.json '{"s": "abc", "t": "true", "sagemaker_program": "program.sh",
        "sagemaker_submit_directory": "/opt/ml/code"}'
    code_file program.sh 'echo "args: $*"'
    start_all -- train
    all_end 60 0 $everyone || return
    every_log_has '-s abc'
    check "the log says what became of ethwe" holds "$(hosts log 1)" ethwe
}

# The service lists ten or more hosts in byte order, groups in any order, and a null topology.
the_service_with_two_hosts() {
    ring 2
    for host in 1 2; do
        printf '%s' '{"current_group_name": "homogeneousCluster", "current_host": "algo-'"$host"'",
            "current_instance_type": "ml.c5.xlarge", "hosts": ["algo-1", "algo-2"],
            "instance_groups": [{"instance_group_name": "homogeneousCluster",
            "instance_type": "ml.c5.xlarge", "hosts": ["algo-2", "algo-1"]}],
            "network_interface_name": "eth0", "topology": null}' \
            >"$(config "$host")/resourceconfig.json"
    done
    start_all -- train -- sh -c 'echo "type $SM_CURRENT_INSTANCE_TYPE hosts $SM_HOSTS"'
    all_end 60 0 $everyone || return
    every_log_has 'type ml.c5.xlarge hosts ["algo-1","algo-2"]'
}

# In a heterogeneous cluster the hosts of the groups that were named are one job, with the first of
# them in natural order as its master. Each of the others runs the program once.
groups_of_a_cluster() {
    ring 3
    for host in 1 2 3; do
        group=g2
        [ "$host" = 2 ] && group=g1
        printf '%s' '{"current_group_name": "'"$group"'", "current_host": "algo-'"$host"'",
            "hosts": ["algo-1", "algo-2", "algo-3"], "instance_groups": [
            {"instance_group_name": "g1", "instance_type": "a", "hosts": ["algo-2"]},
            {"instance_group_name": "g2", "instance_type": "b", "hosts": ["algo-3", "algo-1"]}],
            "network_interface_name": "eth0"}' >"$(config "$host")/resourceconfig.json"
    done
    put hyperparameters.json '{"sagemaker_mpi_enabled": "true", "s": "x",
        "sagemaker_mpi_num_of_processes_per_host": "2", "sagemaker_program": "program.sh",
        "sagemaker_distribution_instance_groups": "[\"g2\"]"}'
    code_file program.sh \
        'echo "place $SM_CURRENT_HOST $RANK/$WORLD_SIZE $SM_DISTRIBUTION_INSTANCE_GROUPS"'
    start_all -- train
    all_end 60 0 $everyone || return
    check "host 1 has the first ranks" holds "$(hosts log 1)" 'place algo-1 1/4 ["g2"]'
    check "host 3 has the others" holds "$(hosts log 3)" 'place algo-3 3/4 ["g2"]'
    check "host 2 is alone" holds "$(hosts log 2)" 'place algo-2 0/1 ["g2"]'
    check "and runs one process" lacks "$(hosts log 2)" 'rank 1'
}

# Two of a thousand hosts are the job. The description and the variables of the ranks list all
# hosts.
two_of_a_thousand_hosts() {
    ring 2
    for host in $everyone; do
        awk -v host="$host" 'function hosts(from,    i, text) {
                for (i = 1000; i >= from; i--) text = text (text == "" ? "" : ", ") "\"algo-" i "\""
                return "\"hosts\": [" text "]"
            }
            BEGIN {
                print "{\"current_host\": \"algo-" host \
                    "\", \"current_group_name\": \"few\", " hosts(1)
                print ", \"network_interface_name\": \"eth0\", \"instance_groups\": ["
                print "{\"instance_group_name\": \"many\", " hosts(3) "},"
                print "{\"instance_group_name\": \"few\", \"hosts\": [\"algo-2\", \"algo-1\"]}]}"
            }' >"$(config "$host")/resourceconfig.json"
    done
    put hyperparameters.json \
        '{"sagemaker_mpi_enabled": "true", "sagemaker_distribution_instance_groups": "[\"few\"]"}'
    start_all -- train -- sh -c \
        'echo "place $SM_CURRENT_HOST $RANK/$WORLD_SIZE $SM_INSTANCE_GROUPS_RANKS"
        for list in "$SM_HOSTS" "$SM_INSTANCE_GROUPS_HOSTS" "$SM_RESOURCE_CONFIG" \
            "$SM_TRAINING_ENV"; do
            echo "names: $(echo "$list" | tr "," "\n" | grep -c algo-)"
        done'
    all_end 60 0 $everyone || return
    check "the second host has the second rank" holds "$(hosts log 2)" \
        'place algo-2 1/2 {"few":[0,1],"many":[]}'
    # SM_TRAINING_ENV has all hosts, all hosts by groups, the description, the first host, this
    # host, and the job's two hosts twice.
    every_log_has 'names: 1000'
    check "each rank has all lists" equal "$(hosts log 2 | sed -n 's/.*names: //p' | tr '\n' ' ')" \
        "1000 1000 2001 $((1000 + 1000 + 2001 + 1 + 1 + 2 * 2)) "
}

without_mpi_every_host_is_alone() {
    ring 2
    put hyperparameters.json '{"sagemaker_mpi_enabled": "false"}'
    start_all -- train -- sh -c 'echo "place $SM_CURRENT_HOST $RANK/$WORLD_SIZE $SM_HOSTS"'
    all_end 60 0 $everyone || return
    check "host 1 is alone" holds "$(hosts log 1)" 'place algo-1 0/1 ["algo-1","algo-2"]'
    check "host 2 is alone" holds "$(hosts log 2)" 'place algo-2 0/1 ["algo-1","algo-2"]'
}

# The SDK's notebooks send these options. An MCA parameter among them replaces the launcher's own.
options_for_mpirun() {
    ring 2
    put hyperparameters.json '{"sagemaker_mpi_custom_mpi_options":
        "\"--verbose --NCCL_DEBUG=WARN -x A=\u0027b c\u0027 --mca btl tcp,self --bind-to core\""}'
    start_all -e NCCL_DEBUG=INFO -- train -- \
        sh -c 'echo "got $A $NCCL_DEBUG $OMPI_MCA_btl $OMPI_MCA_pml"'
    all_end 60 0 $everyone || return
    every_log_has 'got b c WARN tcp,self ob1'
    every_log_has '--verbose changes nothing'
}

# The job of the toolkit's own test of its mpirun command: two hosts, two processes each, a script
# with `-v --lr 35`, and the same words as options for mpirun, where --lr is no option.
the_job_of_the_toolkit_s_own_test() {
    ring 2
    code_file train.sh \
        'echo "got $SM_CURRENT_HOST $RANK/$WORLD_SIZE: $* [${NCCL_MIN_NRINGS-}${NCCL_DEBUG-}]"
        [ -e /opt/ml/code/fail ] || exit 0
        : >"$TEST_SHARE/got-$RANK"
        [ "$RANK" = 3 ] || sleep 60
        until [ -e "$TEST_SHARE/got-0" ]; do sleep 0.1; done
        exit 7'
    toolkit='"sagemaker_program": "train.sh", "sagemaker_mpi_enabled": "true", "v": "", "lr": "35",
        "sagemaker_mpi_num_of_processes_per_host": "2", "sagemaker_mpi_custom_mpi_options"'
    put hyperparameters.json "{$toolkit: \"-v --lr 35\"}"
    start_all -- train
    all_end 60 65 $everyone || return
    all_name '"--lr" is no option that ringmaster passes on' $everyone
    put hyperparameters.json "{$toolkit: \"-v -x NCCL_MIN_NRINGS=4\"}"
    start_all -- train
    all_end 60 0 $everyone || return
    check "the first host has the first ranks" holds "$(hosts log 1)" \
        'got algo-1 1/4: --lr 35 -v  [4]'
    check "the second one has the others" holds "$(hosts log 2)" 'got algo-2 3/4: --lr 35 -v  [4]'
    # The launcher does not set what the toolkit sets by itself, and a rank that fails ends the job
    # whatever Open MPI would do.
    code_file fail ''
    put hyperparameters.json "{$toolkit: \"-v\"}"
    start_all -e OMPI_MCA_orte_abort_on_non_zero_status=0 -e "TEST_SHARE=$share" -- train
    all_end "$PATIENCE" 7 $everyone || return
    all_name 'algo-2 rank 3: exited with 7' $everyone
    check "NCCL chooses its rings" holds "$(hosts log 1)" 'got algo-1 0/4: --lr 35 -v  []'
}

success_leaves_its_mark() {
    ring 2
    for host in $everyone; do
        mkdir -p "$(hosts opt "$host")/output"
        echo old >"$(hosts opt "$host")/output/failure"
    done
    start_all -- train -- true
    all_end 60 0 $everyone || return
    for host in $everyone; do
        check "host $host has output/success" [ -f "$(hosts opt "$host")/output/success" ]
        check "host $host has no failure file" [ ! -e "$(hosts opt "$host")/output/failure" ]
    done
    ring 1
    start_all -- train -- false
    all_end 60 1 1 || return
    check "a failure leaves none" [ ! -e "$(hosts opt 1)/output/success" ]
}

# A FIFO that only the program opens: what is written to it is read once, and whole.
a_pipe_channel_is_for_the_program() {
    ring 1
    put inputdataconfig.json '{"train": {"TrainingInputMode": "Pipe"}}'
    mkdir -p "$(hosts opt 1)/input/data"
    mkfifo "$(hosts opt 1)/input/data/train_0"
    echo "through the pipe" >"$(hosts opt 1)/input/data/train_0" &
    writer=$!
    start_all -- train -- sh -c 'echo "got $(cat "${SM_CHANNEL_TRAIN}_0")"'
    all_end 60 0 1 || { kill "$writer"; return; }
    wait "$writer"
    every_log_has 'got through the pipe'
}

# The instance type implies an EFA adapter.
the_adapter_of_an_instance() {
    ring 1
    printf '%s' '{"current_host": "algo-1", "hosts": ["algo-1"],
        "current_instance_type": "ml.p4d.24xlarge"}' >"$(config 1)/resourceconfig.json"
    for set in auto toolkit; do
        start_all -e "RINGMASTER_EFA=$set" -- train -- \
            sh -c 'echo "fi $FI_PROVIDER $FI_EFA_USE_DEVICE_RDMA [$NCCL_PROTO$RDMAV_FORK_SAFE]"'
        all_end 60 0 1 || return
        [ "$set" = toolkit ] || every_log_has 'fi efa 1 []'
    done
    every_log_has 'fi efa 1 [simple1]'
}

# Local mode's Compose sends SIGTERM to the other hosts as soon as the first one has exited.
a_stop_after_the_end_changes_nothing() {
    ring 2
    # The second host's disk is slow, so that it still runs when the first one has exited.
    slow=
    [ "$DRIVER" = docker ] || slow="LD_PRELOAD=$(dirname "$RINGMASTER_BIN")/tests/stall.so"
    hosts start 1 -- train -- sh -c 'sleep 1'
    hosts start 2 ${slow:+-e "$slow" -e STALL_SECONDS=20} -- train -- sh -c 'sleep 1'
    check "the first host is out" wait_for 60 hosts code 1 || return
    # It may have exited already: where hosts are containers, or where the test was late.
    hosts stop 2 2>/dev/null || [ -z "$slow" ] || {
        proves_nothing "the second host was out before it was stopped"
        return
    }
    all_end "$PATIENCE" 0 $everyone
}

# Metrics that the service looks for in the log: lines of any host's ranks count, as they stand in
# the log with the prefix of host and rank, and metrics that match no line are named.
metrics_that_never_match_are_named() {
    ring 2
    put metric-definition-regex.json '[{"Name": "train:loss", "Regex": "loss=([0-9\\.]+)"},
        {"Name": "train:acc", "Regex": "acc=(\\d+)"}, {"Name": "begins", "Regex": "^loss"},
        {"Name": "lost", "Regex": "lost=(.*)"}, {"Name": "backwards", "Regex": "(a\\1"},
        {"Name": "slow", "Regex": "((x|y)*x(x|y){200})[zq]"}]'
    start_all -- train -- sh -c 'echo "loss=0.$RANK"
        [ "$RANK" = 0 ] || { echo acc=7; head -c 1000000 /dev/zero | tr "\0" x; }'
    all_end 60 0 $everyone || return
    check "they are named" holds "$(hosts log 1)" 'metric begins, lost matched 0 times'
    check "once" lacks "$(hosts log 2)" 'matched 0 times'
    every_log_has "metric backwards is not counted: its regular expression is invalid: missing closing parenthesis at offset"
    check "one that takes too long, too" holds "$(hosts log 2)" \
        'metric slow is not counted: its regular expression takes'
    check "the event has it" holds "$(cat "$(hosts opt 1)"/output/data/events-algo-1.jsonl)" \
        '"event":"metrics","counts":{"train:loss":1,"train:acc":0,"begins":0,"lost":0,"backwards":0,"slow":0},"lines":1,"unread":0,"never":"begins, lost"'
    put metric-definition-regex.json '{"Name": '
    start_all -- train -- true
    all_end 60 0 $everyone || return
    every_log_has 'metrics are not counted: /opt/ml/input/config/metric-definition-regex.json'
}

the_failure_file_of_the_program_stays() {
    ring 2
    start_all -- train -- sh -c '[ "$RANK" = 0 ] || { sleep 60; exit; }
        echo "my own words" >/opt/ml/output/failure; exit 5'
    all_end "$PATIENCE" 5 $everyone || return
    check "the program's own file stays" equal "$(failure_of 1)" 'my own words'
    check "the other host has ours" holds "$(failure_of 2)" 'algo-1 rank 0: exited with 5'
}

a_program_that_exits_130_is_no_success() {
    ring 2
    start_all -- train -- sh -c 'exit 130'
    all_end "$PATIENCE" 1 $everyone || return
    all_name 'exited with 130' $everyone
}

# A quarter of a megabyte in all, which is more than one environment variable may hold.
hyperparameters_are_many_and_long() {
    ring 2
    code='[ ${#SM_HP_P99} = 2500 ] && [ -z "${SM_HPS:-}" ] && [ $# = 200 ]'
    awk 'BEGIN { printf "{\"sagemaker_program\": \"check.sh\""
        for (i = 0; i < 100; i++) printf ", \"p%d\": \"%02500d\"", i, i
        print "}" }' >"$RING/long.json"
    for host in $everyone; do
        cp "$RING/long.json" "$(hosts opt "$host")/input/config/hyperparameters.json"
        mkdir "$(hosts opt "$host")/code"
        echo "$code" >"$(hosts opt "$host")/code/check.sh"
    done
    start_all -- train
    all_end "$PATIENCE" 0 1 2
    check "what is left out is logged" holds "$(hosts log 1)" 'SM_HPS is left out'
}

# The script needs bash for its array, and lies on a file system mounted noexec.
a_script_runs_with_its_own_interpreter() {
    ring 1
    mkdir "$(hosts opt 1)/code"
    printf '#!/bin/bash -e\na=(one two)\necho "${a[1]} $1 $2"\n' >"$(hosts opt 1)/code/train.sh"
    echo '{"sagemaker_program": "train.sh", "lr": "0.1", "api-token": "canary"}' \
        >"$(hosts opt 1)/input/config/hyperparameters.json"
    hosts start 1 \
        -p 'mount --bind /opt/ml/code /opt/ml/code && mount -o remount,noexec,bind /opt/ml/code' \
        -- sh -c 'ringmaster plan && exec train'
    all_end "$PATIENCE" 0 1
    check "it runs" holds "$(hosts log 1)" 'two --api-token canary'
    check "the plan tells no secret" lacks "$(hosts log 1)" '"canary"'
}

CASES=${CASES:-sdk2_with_source_dir sdk2_generic sdk3 the_service_with_two_hosts
    a_stop_after_the_end_changes_nothing the_failure_file_of_the_program_stays
    a_program_that_exits_130_is_no_success hyperparameters_are_many_and_long
    metrics_that_never_match_are_named groups_of_a_cluster two_of_a_thousand_hosts
    without_mpi_every_host_is_alone options_for_mpirun
    the_job_of_the_toolkit_s_own_test success_leaves_its_mark
    a_pipe_channel_is_for_the_program the_adapter_of_an_instance
    $([ "$DRIVER" = docker ] || echo a_script_runs_with_its_own_interpreter)}
run_cases
finish
