#!/bin/sh
# Tests wrong input of every kind: each job ends soon, with its documented exit code, and reports
# what is wrong and where.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

SOON=$PATIENCE

# end_saying CODE TEXT: every host of the ring ends with CODE, and its log contains TEXT.
end_saying() {
    all_end "$SOON" "$1" $everyone || return
    for host in $everyone; do
        check "host $host says '$2'" holds "$(hosts log "$host")" "$2"
    done
}

resource_config_is_not_json() {
    ring 1
    put resourceconfig.json '{"current_host": "algo-1", "hosts": ['
    start_all -- train -- true
    end_saying 65 "resourceconfig.json:1:37: ']' expected near end of file"
}

resource_config_lacks_this_host() {
    ring 1
    put resourceconfig.json '{"current_host": "algo-9", "hosts": ["algo-1", "algo-2"]}'
    start_all -- train -- true
    end_saying 65 \
        'resourceconfig.json: "current_host": this host, "algo-9", is not in the list of hosts'
}

resource_config_lacks_the_hosts() {
    ring 1
    put resourceconfig.json '{"current_host": "algo-1"}'
    start_all -- train -- true
    end_saying 65 'resourceconfig.json: "hosts" is missing'
}

# in_the_list NAME TEXT: the second entry of the list of hosts is NAME, in JSON; the log reports
# TEXT about it.
in_the_list() {
    ring 1
    put resourceconfig.json "{\"current_host\": \"algo-1\", \"hosts\": [\"algo-1\", $1]}"
    start_all -- train -- true
    end_saying 65 "resourceconfig.json: \"hosts\"$2" || echo "  for $1" | cut -c 1-100
}
host_names_are_hostile() {
    in_the_list '"algo-1"' ': the host "algo-1" is listed twice'
    for name in -oProxyCommand=x 'a b' 'a;b'; do
        in_the_list "\"$name\"" ": \"$name\" is not a host name"
    done
    in_the_list '""' ': a host name is empty'
    in_the_list 7 '[1] is not a string'
    in_the_list "\"$(printf '%0300d' 0)\"" ': the host name "'
    check "it is too long" holds "$(hosts log 1)" '..." has 300 bytes; 253 are the most'
}

host_list_lacks_this_host() {
    ring 1
    rm "$(config 1)/resourceconfig.json"
    start_all -e RINGMASTER_HOSTS=one,two -e RINGMASTER_HOST=three -- train -- true
    end_saying 65 'RINGMASTER_HOST: this host, "three", is not in the list of hosts'
}

host_list_is_link_local() {
    ring 1
    rm "$(config 1)/resourceconfig.json"
    start_all -e RINGMASTER_HOSTS=fe80::1,fe80::2 -- train -- true
    end_saying 65 'RINGMASTER_HOSTS: "fe80::1" is a link-local address'
}

resource_config_begins_with_a_byte_order_mark() {
    ring 1
    put resourceconfig.json \
        "$(printf '\357\273\277{"current_host": "algo-1", "hosts": ["algo-1"]}')"
    start_all -- train -- true
    end_saying 65 'resourceconfig.json: begins with a byte order mark (BOM)'
}

# tells CODE TEXT CULPRIT: all hosts end with CODE, long before they would give up waiting, and
# every failure file names the culprit and contains TEXT.
tells() {
    all_end "$SOON" "$1" $everyone || return
    for host in $everyone; do
        check "the story of host $host names $3" holds "$(failure_of "$host")" "$3"
        check "the story of host $host says '$2'" holds "$(failure_of "$host")" "$2"
    done
}

# Only one host can see the fault: it tells the others, so that they do not wait for it.
one_host_has_a_wrong_variable() {
    for culprit in 1 2; do
        ring 3
        for host in $everyone; do
            if [ "$host" = "$culprit" ]; then
                hosts start "$host" -e RINGMASTER_RESTARTS=many -- train -- true
            else
                hosts start "$host" -- train -- true
            fi
        done
        tells 65 RINGMASTER_RESTARTS "algo-$culprit"
    done
}

one_host_has_unreadable_hyperparameters() {
    ring 3
    printf '{"lr": ' >"$(config 3)/hyperparameters.json"
    start_all -e TRAINING_JOB_NAME=job-1 -- train -- true
    tells 65 hyperparameters.json algo-3
}

# Without its hyperparameters a host does not know the job's name, so its key differs: it reports
# its own fault, not that it was refused.
one_host_does_not_know_the_jobs_name() {
    ring 2
    put hyperparameters.json '{"sagemaker_job_name": "job-1"}'
    printf '{"lr": ' >"$(config 2)/hyperparameters.json"
    start_all -e RINGMASTER_READY_SECONDS=10 -- train -- true
    check "all end" hosts wait "$SOON"
    check "the culprit's code" equal "$(hosts code 2)" 65
    check "the culprit's story" holds "$(failure_of 2)" 'hyperparameters.json'
    check "the other's code" equal "$(hosts code 1)" 77
    check "the other's story names what may differ" holds "$(failure_of 1)" "job's name"
}

# SageMaker accepts such names, but they cannot be flags.
hyperparameters_have_odd_names() {
    ring 1
    put hyperparameters.json '{"two words": "1", "--": "2", "lr": "3"}'
    start_all -- train -- sh -c 'echo "$SM_HPS"'
    end_saying 0 '3 hyperparameters are not passed to a program that is named after "--"'
    end_saying 0 '"two words":1'
    ring 1
    put hyperparameters.json \
        '{"two words": "1", "--": "2", "lr": "3", "sagemaker_program": "/bin/echo"}'
    start_all -- train
    end_saying 0 '2 hyperparameters have names that are no flag'
    end_saying 0 '] --lr 3'
}

hyperparameters_are_not_json() {
    ring 1
    put hyperparameters.json 'lr = 0.1'
    start_all -- train -- true
    end_saying 65 'hyperparameters.json:1:2: invalid token'
}

a_hyperparameter_is_unknown() {
    ring 1
    put hyperparameters.json '{"learning-speed": "0.1"}'
    start_all -- train --data synthetic --steps 1
    end_saying 64 'unknown flag --learning-speed'
}

a_hyperparameter_has_a_wrong_value() {
    ring 1
    put hyperparameters.json '{"batch-size": "many"}'
    start_all -- train --data synthetic --steps 1
    end_saying 64 '--batch-size: "many" is not a whole number'
}

a_variable_is_unknown() {
    ring 1
    start_all -e RINGMASTER_HOTS=a,b -- train -- true
    end_saying 65 'RINGMASTER_HOTS: there is no such setting'
}

# With RINGMASTER_LOG=json every line is JSON, whatever is wrong and whenever that is noticed.
every_line_is_json() {
    lines=$(hosts log 1)
    check "host 1 says something" holds "$lines" '"level":"error"'
    check "every line of host 1 is an object" \
        equal "$(printf '%s\n' "$lines" | python3 -c 'import json, sys
print([line for line in sys.stdin
       if set(json.loads(line)) != {"time", "level", "who", "text"}])' 2>&1)" '[]'
}
the_log_is_json_from_the_first_line() {
    for wrong in RINGMASTER_HOTS=a,b RINGMASTER_RESTARTS=many RINGMASTER_AA=1 \
        RINGMASTER_HOSTS=a_b; do
        ring 1
        start_all -e RINGMASTER_LOG=json -e "$wrong" -- train -- true
        all_end "$SOON" 65 1 || return
        every_line_is_json
    done
    ring 1
    put resourceconfig.json '{'
    start_all -e RINGMASTER_LOG=json -- train -- true
    all_end "$SOON" 65 1 || return
    every_line_is_json
    ring 1
    start_all -e RINGMASTER_LOG=json -- train -- /nowhere/program
    all_end "$SOON" 127 1 || return
    every_line_is_json
    ring 1
    start_all -e RINGMASTER_LOG=json -- ringmaster nonsense
    all_end "$SOON" 64 1 || return
    every_line_is_json
}

a_channel_is_a_pipe() {
    ring 1
    put inputdataconfig.json '{"train": {"TrainingInputMode": "Pipe"}}'
    mkfifo "$(hosts opt 1)/input/data/train_0"
    start_all -- train
    end_saying 65 'inputdataconfig.json: channel "train" is in Pipe mode'
}

options_for_mpirun_are_refused() {
    ring 2
    put hyperparameters.json \
        '{"sagemaker_mpi_custom_mpi_options": "-x A=b --mca plm_rsh_agent ssh"}'
    start_all -- train -- true
    end_saying 65 'sagemaker_mpi_custom_mpi_options: "plm_rsh_agent" is no parameter of ranks'
    ring 2
    put hyperparameters.json \
        '{"sagemaker_mpi_custom_mpi_options": "-x LD_PRELOAD=/opt/ml/input/data/train/x.so"}'
    start_all -- train -- true
    end_saying 65 \
        '"LD_PRELOAD=/opt/ml/input/data/train/x.so" would bring other code into every rank'
}

# Text that a shell would act on reaches the ranks' variables unchanged, through no shell; an MCA
# parameter's value must not contain any.
values_of_options_reach_no_shell() {
    for value in '$(touch /opt/ml/model/owned)' '`touch /opt/ml/model/owned`' \
        'self;touch /opt/ml/model/owned'; do
        ring 2
        put hyperparameters.json "{\"sagemaker_mpi_custom_mpi_options\": \"-x BTL_TEST='$value'\"}"
        start_all -- train -- sh -c 'printf %s "$BTL_TEST" >/opt/ml/model/value'
        all_end "$PATIENCE" 0 1 2 || return
        for host in $everyone; do
            check "no shell has read it on host $host" test ! -e "$(hosts opt "$host")/model/owned"
            check "it is there on host $host" \
                equal "$(cat "$(hosts opt "$host")/model/value")" "$value"
        done
    done
    ring 2
    put hyperparameters.json "{\"sagemaker_mpi_custom_mpi_options\": \"--mca btl_test '\$(id)'\"}"
    start_all -- train -- true
    end_saying 65 'the value of "btl_test" has '"'\$'"' in it'
    ring 2
    put hyperparameters.json '{"sagemaker_mpi_custom_mpi_options": "-x MASTER_ADDR=10.0.0.1"}'
    start_all -- train -- true
    end_saying 65 '"MASTER_ADDR=10.0.0.1" says where ranks meet'
}

an_instance_group_is_not_there() {
    ring 2
    put hyperparameters.json '{"sagemaker_distribution_instance_groups": "[\"g9\"]"}'
    start_all -- train -- true
    end_saying 65 'sagemaker_distribution_instance_groups: there is no instance group "g9"'
}

code_on_s3_wants_credentials() {
    ring 1
    put hyperparameters.json \
        '{"sagemaker_program": "train.sh", "sagemaker_submit_directory": "s3://bucket/code.tar.gz"}'
    start_all -- train
    end_saying 65 "no AWS credentials"
}

the_program_is_not_there() {
    ring 2
    start_all -- train -- no-such-program
    end_saying 127 'the program "no-such-program" is not in PATH'
}

the_program_is_no_program() {
    ring 2
    for host in $everyone; do echo text >"$(hosts opt "$host")/model/text"; done
    start_all -- train -- /opt/ml/model/text
    end_saying 126 'the program /opt/ml/model/text is not executable: Permission denied'
}

# The script exists: its interpreter is what is missing.
the_programs_interpreter_is_not_there() {
    ring 2
    printf '#!/no/such/python3\nprint(1)\n' >"$share/script"
    chmod 755 "$share/script"
    start_all -- train -- "$share/script"
    tells 127 'its interpreter, /no/such/python3' script
}

the_command_is_unknown() {
    ring 1
    start_all -- ringmaster trian
    end_saying 64 'unknown command trian'
}

a_word_too_many() {
    for command in version metrics 'help train'; do
        ring 1
        # shellcheck disable=SC2086  # words
        start_all -- ringmaster $command foo
        end_saying 64 'unexpected foo'
    done
}

# No job starts when help is requested, under either name; words after -- belong to the program.
help_is_asked_for() {
    for library in libcurl libarchive Expat; do
        check "$library has a version" grep -Eq "^$library +[0-9]+[.][0-9.]+\$" <<END
$("$RINGMASTER_BIN/ringmaster-transfer" version)
END
    done
    for words in 'train --help' 'ringmaster train --help' 'ringmaster train --data x -h'; do
        ring 1
        # shellcheck disable=SC2086  # words
        start_all -- $words
        end_saying 0 'ringmaster train -- PROGRAM ARGS'
        check "'$words' starts no job" lacks "$(hosts log 1)" 'the only rank'
    done
    ring 1
    start_all -- train -- sh -c 'echo "got $1"' sh --help
    end_saying 0 'got --help'
}

# N hosts of another platform must not run N jobs that all succeed.
another_platform_counts_several() {
    ring 1
    rm "$(config 1)/resourceconfig.json"
    start_all -e SLURM_NNODES=4 -e SLURM_NODEID=2 -- train -- true
    end_saying 65 'SLURM_NNODES=4, SLURM_NODEID=2'
    end_saying 65 'RINGMASTER_PLATFORM=none'
    start_all -e SLURM_NNODES=4 -e RINGMASTER_PLATFORM=none -- train -- true
    end_saying 0 'the only rank ended with 0'
    start_all -e SLURM_NNODES=4 -e RINGMASTER_PLATFORM=slurm -- train -- true
    end_saying 65 'RINGMASTER_PLATFORM=slurm: its variables are not set'
    start_all -e SLURM_NNODES=4 -e RINGMASTER_PLATFORM=slum -- train -- true
    end_saying 65 'neither none nor a platform'
    start_all -e JOB_COMPLETION_INDEX=1 -- train -- true
    end_saying 65 \
        'JOB_COMPLETION_INDEX=1 (a Kubernetes Indexed Job: its manifest says in RINGMASTER_COUNT how many)'
    start_all -e NOMAD_ALLOC_INDEX=1 -- train -- true
    end_saying 65 'NOMAD_ALLOC_INDEX=1 (Nomad) says that there are others'
    start_all -e NOMAD_ALLOC_INDEX=0 -- train -- true
    end_saying 0 'NOMAD_ALLOC_INDEX=0 (Nomad): there may be others'
}

a_service_is_called_ringmaster() {
    ring 1
    start_all -e RINGMASTER_SERVICE_HOST=10.0.0.1 -e RINGMASTER_PORT=tcp://10.0.0.1:7070 -- \
        train -- true
    end_saying 0 'and others like it: ignored'
}

# `plan train -- ...` shows what `train -- ...` would run.
plan_of_train() {
    ring 1
    start_all -- ringmaster plan train -- echo one
    end_saying 0 '"one"'
    check "train is no word of the program" \
        lacks "$(hosts log 1 | sed -n '/"program"/,/]/p')" '"train"'
}

# The host with another timeout reports the reason at once, and the other host does too when it
# stops waiting.
one_host_counts_silence_otherwise() {
    ring 2
    hosts start 1 -- train -- true
    hosts start 2 -e RINGMASTER_DEAD_SECONDS=5 -- train -- true
    end_saying 65 \
        'RINGMASTER_DEAD_SECONDS is 5 there, and 10 on the master: set it equally on all hosts'
}

one_host_has_another_key() {
    ring 3
    for host in 1 2; do
        hosts start "$host" -e RINGMASTER_READY_SECONDS=10 \
            -e RINGMASTER_KEY=the-key-of-all-the-others -- train -- true
    done
    hosts start 3 -e RINGMASTER_READY_SECONDS=10 -e RINGMASTER_KEY=a-key-that-is-not-theirs -- \
        train -- true
    check "all end" hosts wait "$SOON"
    check "the stranger is refused" equal "$(hosts code 3)" 77
    check "the stranger says why" \
        holds "$(failure_of 3)" 'algo-1 was not there within 10 s: another key: '
    for host in 1 2; do
        check "host $host does not go on" equal "$(hosts code "$host")" 77
        check "host $host names the stranger" holds "$(failure_of "$host")" \
            'missing algo-3; algo-3 at '
        check "host $host names the cause" holds "$(failure_of "$host")" \
            ' was refused: another key: '
    done
}

# With namespaces, a host's name resolves once that host has started; host 2 never starts.
a_name_does_not_resolve() {
    [ "$DRIVER" = ns ] || { skip_case "names are the engine's"; return; }
    ring 2
    hosts start 1 -e RINGMASTER_READY_SECONDS=12 -- train -- true
    check "it ends" hosts wait "$SOON"
    check "code" equal "$(hosts code 1)" 69
    check "the log says so, once" equal "$(hosts log 1 |
        grep -c 'algo-2 is missing, and its name does not resolve: neither DNS')" 1
    check "the failure file says so" \
        holds "$(failure_of 1)" 'missing algo-2 (its name does not resolve)'
}

a_key_is_required() {
    ring 2
    start_all -e RINGMASTER_REQUIRE_KEY=1 -e RINGMASTER_KEY= -- train -- true
    end_saying 77 'RINGMASTER_REQUIRE_KEY is set and there is no key'
}

# start_beside PORT SECONDS: two hosts; another process on the first one listens on PORT for so
# long, while ringmaster starts. It is written in Perl, which every Debian has.
start_beside() {
    ring 2
    hosts start 2 -e RINGMASTER_READY_SECONDS=10 -- train -- true
    hosts start 1 -e RINGMASTER_READY_SECONDS=10 -e PORT="$1" -e SECONDS_HELD="$2" -- sh -c '
        perl -MIO::Socket::INET -e "
            my \$s = IO::Socket::INET->new(Listen => 1, LocalPort => \$ENV{PORT}) or die;
            open my \$f, q(>), q(/tmp/ready); close \$f; sleep \$ENV{SECONDS_HELD}" &
        while [ ! -e /tmp/ready ]; do sleep 0.1; done
        exec train -- true'
}

a_port_is_busy() {
    start_beside 7070 60
    check "all end" hosts wait "$SOON"
    check "the master's code" equal "$(hosts code 1)" 65
    check "it names the port" grep -Eq \
        'port 7070 of the control link \(RINGMASTER_PORT\): Address (already )?in use' <<END
$(hosts log 1)
END
    check "the other does not go on" equal "$(hosts code 2)" 69
}

# The daemon of a run that was killed just before may hold the port as briefly.
a_port_is_busy_for_a_moment() {
    start_beside 7071 2
    check "all end" hosts wait "$SOON"
    check "the codes" equal "$(hosts code 1) $(hosts code 2)" '0 0'
}

a_port_of_open_mpi_is_busy() {
    start_beside 7071 60
    check "all end" hosts wait "$SOON"
    check "the codes" equal "$(hosts code 1) $(hosts code 2)" '65 65'
    check "it names the port" holds "$(hosts log 2)" "algo-1: port 7071 for Open MPI's daemons"
}

a_folder_has_no_pictures() {
    ring 1
    mkdir "$(hosts opt 1)/input/data/train"
    put inputdataconfig.json '{"train": {"TrainingInputMode": "File"}}'
    start_all -- train --steps 1
    end_saying 66 'training data: /opt/ml/input/data/train: no class folders'
}

a_picture_is_cut_off() {
    ring 1
    folder=$(hosts opt 1)/input/data/train
    hosts start 1 -- ringtrain prepare shapes /opt/ml/input/data/made --train 64 --validation 16
    check "the set is made" hosts wait "$SOON" || return
    mv "$(hosts opt 1)/input/data/made/train" "$folder"
    victim=$(find "$folder" -name '*.jpg' | sort | head -n 1)
    head -c 200 "$victim" >"$victim.part"
    mv "$victim.part" "$victim"
    start_all -- train --model resnet20 --epochs 1 --batch-size 8
    end_saying 66 "$(basename "$victim"): JPEG: truncated"
}

# mpirun itself requests the daemon, with a parameter that ringmaster did not pass.
a_refused_daemon_is_the_story() {
    ring 2
    printf '#!/bin/sh\nexec /usr/bin/mpirun --mca plm_base_verbose 0 "$@"\n' >"$share/mpirun"
    chmod 755 "$share/mpirun"
    start_all -e "PATH=$share:$RINGMASTER_BIN:/usr/local/bin:/usr/bin:/bin" -- train -- true
    all_end "$SOON" 70 1 2
    all_name 'algo-2 started no orted: launch request refused' 1 2
}

CASES=${CASES:-one_host_has_a_wrong_variable one_host_has_unreadable_hyperparameters
    one_host_does_not_know_the_jobs_name the_programs_interpreter_is_not_there
    a_refused_daemon_is_the_story resource_config_is_not_json resource_config_lacks_this_host
    resource_config_lacks_the_hosts host_names_are_hostile host_list_lacks_this_host
    host_list_is_link_local resource_config_begins_with_a_byte_order_mark
    hyperparameters_have_odd_names
    hyperparameters_are_not_json a_hyperparameter_is_unknown a_hyperparameter_has_a_wrong_value
    a_variable_is_unknown $([ "$DRIVER" = docker ] || echo the_log_is_json_from_the_first_line)
    a_channel_is_a_pipe options_for_mpirun_are_refused values_of_options_reach_no_shell
    an_instance_group_is_not_there code_on_s3_wants_credentials the_program_is_not_there
    the_program_is_no_program the_command_is_unknown a_word_too_many help_is_asked_for
    another_platform_counts_several a_service_is_called_ringmaster plan_of_train
    one_host_counts_silence_otherwise one_host_has_another_key a_name_does_not_resolve
    a_key_is_required a_port_is_busy a_port_is_busy_for_a_moment a_port_of_open_mpi_is_busy
    a_folder_has_no_pictures a_picture_is_cut_off}
run_cases
finish
