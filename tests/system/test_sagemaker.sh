#!/bin/sh
# What SageMaker and the local mode of its two SDKs put into a container, as they put it.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

config() { echo "$(hosts opt "$1")/input/config"; }
put() { for host in $everyone; do printf '%s' "$2" >"$(config "$host")/$1"; done; }
code_file() {
    for host in $everyone; do
        mkdir -p "$(hosts opt "$host")/code"
        printf '%s\n' "$2" >"$(hosts opt "$host")/code/$1"
    done
}
every_log_has() {
    for host in $everyone; do
        check "host $host prints '$1'" holds "$(hosts log "$host")" "$1"
    done
}

# SDK 2: a random suffix per job; hyperparameters in JSON's quotes; the program in a folder.
sdk2_with_source_dir() {
    ring 3 --suffix -plf6b
    put hyperparameters.json '{"s": "\"abc\"", "i": "7", "f": "1e-05", "t": "true", "n": "null",
        "l": "[1, 2, \"x\"]", "u": "\"\u00e9\"", "sagemaker_submit_directory": "\"/opt/ml/code\"",
        "sagemaker_program": "\"program.sh\"", "sagemaker_container_log_level": "20",
        "sagemaker_job_name": "\"job-1\"", "sagemaker_region": "\"us-east-1\""}'
    code_file program.sh 'echo "args: $*"; echo "here: $(pwd) $SM_CURRENT_HOST"'
    start_all -e TRAINING_JOB_NAME=job-1 -e AWS_SECRET_ACCESS_KEY=very-secret-words -- train
    all_end 60 0 $everyone || return
    every_log_has '--s abc'
    every_log_has '--f 1e-05'
    every_log_has '--u é'
    check "the suffix stays in the names" holds "$(hosts log 2)" '[algo-2-plf6b rank 1]'
    for host in $everyone; do
        check "sagemaker_* stay hidden on host $host" lacks "$(hosts log "$host")" '--sagemaker'
        check "no secret in the log of host $host" lacks "$(hosts log "$host")" very-secret-words
    done
}

# A generic Estimator of SDK 2: str() of Python's values.
sdk2_generic() {
    ring 2 --suffix -a1b2c
    put hyperparameters.json '{"s": "abc", "i": "7", "f": "1e-05", "t": "True",
        "sagemaker_program": "program.sh"}'
    code_file program.sh 'echo "args: $*"'
    start_all -- train
    all_end 60 0 $everyone || return
    every_log_has '--t True'
    every_log_has '--i 7'
}

# SDK 3: an interface that does not exist, in every job; no command at all would be `train`.
sdk3() {
    ring 2 --interface ethwe
    put hyperparameters.json '{"s": "abc", "t": "true", "sagemaker_program": "program.sh",
        "sagemaker_submit_directory": "/opt/ml/code"}'
    code_file program.sh 'echo "args: $*"'
    start_all -- train
    all_end 60 0 $everyone || return
    every_log_has '--s abc'
    check "the log says what became of ethwe" holds "$(hosts log 1)" ethwe
}

# The service: ten hosts and more come in byte order, groups in any order, topology null.
the_service_with_two_hosts() {
    ring 2
    for host in 1 2; do
        printf '%s' '{"current_group_name": "homogeneousCluster", "current_host": "algo-'"$host"'",
            "current_instance_type": "ml.c5.xlarge", "hosts": ["algo-1", "algo-2"],
            "instance_groups": [{"instance_group_name": "homogeneousCluster",
            "instance_type": "ml.c5.xlarge", "hosts": ["algo-2", "algo-1"]}],
            "network_interface_name": "eth0", "topology": null}' >"$(config "$host")/resourceconfig.json"
    done
    start_all -- train -- sh -c 'echo "type $SM_CURRENT_INSTANCE_TYPE hosts $SM_HOSTS"'
    all_end 60 0 $everyone || return
    every_log_has 'type ml.c5.xlarge hosts ["algo-1","algo-2"]'
}

# Local mode's Compose sends SIGTERM to the others as soon as the first host is out.
a_stop_after_the_end_changes_nothing() {
    ring 2
    start_all -- train -- sh -c 'sleep 1'
    check "host 1 or 2 ends" wait_for 60 one_is_out || return
    for host in $everyone; do hosts stop "$host" 2>/dev/null; done
    all_end 30 0 $everyone
}
one_is_out() { hosts code 1 2>/dev/null || hosts code 2 2>/dev/null; }

the_failure_file_of_the_program_stays() {
    ring 2
    start_all -- train -- sh -c '[ "$RANK" = 0 ] || { sleep 60; exit; }
        echo "my own words" >/opt/ml/output/failure; exit 5'
    all_end 30 5 $everyone || return
    check "the program's own file stays" equal "$(failure_of 1)" 'my own words'
    check "the other host has ours" holds "$(failure_of 2)" 'algo-1 rank 0: exited with 5'
}

a_program_that_exits_130_is_no_success() {
    ring 2
    start_all -- train -- sh -c 'exit 130'
    all_end 30 1 $everyone || return
    all_name 'exited with 130' $everyone
}

# A quarter of a megabyte in all: more than one variable of the environment may hold.
hyperparameters_are_many_and_long() {
    ring 2
    code='[ ${#SM_HP_P99} = 2500 ] && [ -z "${SM_HPS:-}" ] && [ $# = 200 ]'
    awk 'BEGIN { printf "{\"sagemaker_program\": \"check.sh\""
        for (i = 0; i < 100; i++) printf ", \"p%d\": \"%02500d\"", i, i; print "}" }' >"$RING/long.json"
    for host in $everyone; do
        cp "$RING/long.json" "$(hosts opt "$host")/input/config/hyperparameters.json"
        mkdir "$(hosts opt "$host")/code"
        echo "$code" >"$(hosts opt "$host")/code/check.sh"
    done
    start_all -- train
    all_end 30 0 1 2
    check "what is left out is told" holds "$(hosts log 1)" 'SM_HPS is left out'
}

# An array is no word of sh's, and nothing may be executed there.
a_script_runs_with_its_own_interpreter() {
    ring 1
    mkdir "$(hosts opt 1)/code"
    printf '#!/bin/bash -e\na=(one two)\necho "${a[1]} $1 $2"\n' >"$(hosts opt 1)/code/train.sh"
    echo '{"sagemaker_program": "train.sh", "lr": "0.1", "api-token": "canary"}' \
        >"$(hosts opt 1)/input/config/hyperparameters.json"
    hosts start 1 -- sh -c 'mount --bind /opt/ml/code /opt/ml/code &&
        mount -o remount,noexec,bind /opt/ml/code && ringmaster plan && exec train'
    all_end 30 0 1
    check "it runs" holds "$(hosts log 1)" 'two --api-token canary'
    check "the plan tells no secret" lacks "$(hosts log 1)" '"canary"'
}

CASES=${CASES:-sdk2_with_source_dir sdk2_generic sdk3 the_service_with_two_hosts
    a_stop_after_the_end_changes_nothing the_failure_file_of_the_program_stays
    a_program_that_exits_130_is_no_success hyperparameters_are_many_and_long
    $([ "$DRIVER" = docker ] || echo a_script_runs_with_its_own_interpreter)}
run_cases
finish
