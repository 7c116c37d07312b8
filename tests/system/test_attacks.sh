#!/bin/sh
# Tests attacks from within a job, in whole jobs (docs/security/attacks.md): libraries that the
# container's variables name, and channels that lead elsewhere. test_fork_bomb.sh tests a program
# that forks without end.
# shellcheck disable=SC2034,SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "these hosts have links made for them"

canary=$(dirname "$RINGMASTER_BIN")/tests/canary.so
# --- variables of the loader and of other programs (A5) -------------------------------------------

# Makes a canary library for each of the variables, and the files that they name.
cage() {
    mkdir "$share/components"
    for bird in preload.so audit.so openssl.so gconv.so components/mca_schizo_canary.so; do
        cp "$canary" "$share/$bird"
    done
    echo "echo \"\$\$ \$0\" >>$share/bash.sings" >"$share/bash"
    echo "module CANARY// INTERNAL $share/gconv 1" >"$share/gconv-modules"
    printf '%s\n' 'openssl_conf = all' '[all]' 'providers = these' '[these]' 'canary = it' '[it]' \
        "module = $share/openssl.so" 'activate = 1' >"$share/openssl.cnf"
    chmod -R a+rX "$share"
    chmod 1777 "$share/components"
}
steered() {
    cat <<END
LD_PRELOAD=$share/preload.so
LD_AUDIT=$share/audit.so
GCONV_PATH=$share
OPENSSL_CONF=$share/openssl.cnf
OMPI_MCA_mca_base_component_path=$share/components
BASH_ENV=$share/bash
END
}
# sang BIRD: prints the processes that loaded it (canary.c).
sang() { cat "$share/$1.sings" 2>/dev/null; }

# Each canary works outside of jobs; otherwise its silence in a job would prove nothing.
canaries_sing() {
    for line in $(steered); do
        case $line in
        GCONV*) set -- iconv -f CANARY -t UTF-8 ;;
        OPENSSL*) set -- openssl list -providers ;;
        OMPI*) set -- mpirun --allow-run-as-root -n 1 true ;;
        BASH*) set -- bash -c : ;;
        *) set -- true ;;
        esac
        env "$line" "$@" </dev/null >/dev/null 2>&1
    done
    for bird in preload.so audit.so gconv.so openssl.so components/mca_schizo_canary.so bash; do
        check "$bird sings outside of jobs" [ -n "$(sang "$bird")" ]
    done
    find "$share" -name '*.sings' -delete
}

what_the_loader_is_told_reaches_the_program_alone() {
    for tool in openssl iconv bash; do
        command -v $tool >/dev/null || {
            skip_case "no $tool to show that the canaries can sing"
            return
        }
    done
    ring 2
    cage
    canaries_sing
    cp "$(command -v sleep)" "$share/program"
    put hyperparameters.json '{"sagemaker_mpi_num_of_processes_per_host": "2"}'
    # shellcheck disable=SC2046  # one word for each variable
    start_all $(for line in $(steered); do echo "-e $line"; done) -- train -- "$share/program" 2
    all_end 60 0 $everyone || return
    for bird in preload.so audit.so; do
        check "$bird sings in the first processes and in the programs alone" equal \
            "$(sang $bird | sed 's:/[^ ]*/::; s/^1 /first /; s/^[0-9]* //' | sort | uniq -c |
                tr -s ' \n' ' ')" \
            " 2 first ringmaster -- 4 program 2 "
    done
    for bird in gconv.so openssl.so components/mca_schizo_canary.so bash; do
        check "nobody listens to $bird" equal "$(sang "$bird")" ''
    done
}

# --- channels (A8) --------------------------------------------------------------------------------

a_channels_name_leads_nowhere() {
    for odd in ../../model a/b .. -rf; do
        ring 2
        printf '{"%s": {}}' "$odd" >"$(config 2)/inputdataconfig.json"
        start_all -- train -- touch /opt/ml/model/began
        all_end "$PATIENCE" 65 $everyone || return
        all_name "\"$odd\" is not a channel's name" $everyone
        nothing_in_the_model
    done
}

# An earlier job may have left a link in a channel. Where a folder belongs it ends the job; where a
# file belongs the file replaces it.
a_link_in_a_channel_is_not_followed() {
    [ -x "$RINGMASTER_BIN/ringmaster-transfer" ] || {
        skip_case "this build fetches nothing"
        return
    }
    fetched tree 'ln -s ../../../model deep' || return
    all_end 60 66 $everyone || return
    all_name '"deep" is in the way, as it is no folder or a link' $everyone
    nothing_in_the_model
    fetched set 'ln -s ../../../model/owned 03' || return
    all_end 60 0 $everyone || return
    for host in $everyone; do
        there=$(hosts opt "$host")/input/data/train/03
        check "a file has the link's place on host $host" [ -f "$there" ] &&
            check "it is none" [ ! -L "$there" ]
        check "it is whole" equal "$(tr -d D <"$there" | wc -c) $(wc -c <"$there")" '0 900000'
    done
    nothing_in_the_model
}
# fetched PREFIX SCRIPT: two hosts fetch a channel from PREFIX. SCRIPT ran in its folder before.
fetched() {
    ring_down
    server_down
    ring 2
    hub=rm-$(basename "$RING")-hub
    ip -n "$hub" address add 10.77.0.254/24 dev ring
    ip -n "$hub" link set lo up
    ip netns exec "$hub" python3 "$system/counting_s3.py" 10.77.0.254 5000 "$RING/notes" &
    server=$!
    wait_for 60 ip netns exec "$hub" python3 -c \
        'import socket; socket.create_connection(("10.77.0.254", 5000), 1)' ||
        check "the server is there" false || return
    for host in $everyone; do
        mkdir "$(hosts opt "$host")/input/data/train"
        (cd "$(hosts opt "$host")/input/data/train" && sh -c "$2")
    done
    start_all -e AWS_ENDPOINT_URL_S3=http://10.77.0.254:5000 -e AWS_ACCESS_KEY_ID=AKID \
        -e AWS_SECRET_ACCESS_KEY=canary -e RINGMASTER_CHANNEL_TRAIN="s3://bucket/$1" \
        -- train -- true
}
nothing_in_the_model() {
    for host in $everyone; do
        check "nothing has come to the model's folder on host $host" \
            equal "$(ls "$(hosts opt "$host")/model")" ''
    done
}

CASES=${CASES:-what_the_loader_is_told_reaches_the_program_alone a_channels_name_leads_nowhere
    a_link_in_a_channel_is_not_followed}
run_cases
finish
