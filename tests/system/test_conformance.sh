#!/bin/sh
# Tests the cases of SageMaker's contract that need whole jobs and have no other script;
# docs/contributing/sagemaker-conformance.md lists all cases with their tests.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# Each rank gets the credentials of its own container, and they are never printed.
case_17_credentials_stay_with_their_host() {
    ring 2
    code_file program.sh 'case $SM_CURRENT_HOST in
        algo-1) [ "$AWS_ACCESS_KEY_ID" = canary-1 ] &&
            [ "$AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" = /v2/canary-1 ] ;;
        algo-2) [ "$AWS_ACCESS_KEY_ID" = canary-2 ] &&
            [ "$AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" = /v2/canary-2 ] ;;
        esac && echo "own credentials"'
    put hyperparameters.json '{"sagemaker_program": "program.sh"}'
    for host in $everyone; do
        hosts start "$host" -e RINGMASTER_DEBUG=1 -e "AWS_ACCESS_KEY_ID=canary-$host" \
            -e "AWS_SECRET_ACCESS_KEY=canary-$host" -e "AWS_SESSION_TOKEN=canary-$host" \
            -e "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/canary-$host" -- \
            sh -c 'ringmaster plan; exec train'
    done
    all_end 60 0 $everyone || return
    every_log_has 'own credentials'
    for host in $everyone; do
        check "host $host prints none of them" lacks "$(hosts log "$host")" canary
    done
}

# The first host's name does not resolve until that host has started.
case_18_a_name_that_is_not_known_yet() {
    ring 2
    hosts start 2 -- train -- echo together
    check "host 2 has asked for the name again and again" wait_for "$PATIENCE" asked_twice || return
    hosts start 1 -- train -- echo together
    all_end 60 0 $everyone || return
    every_log_has together
}
asked_twice() {
    [ "$(hosts log 2 | grep -c 'waiting for algo-1: its name does not resolve')" -ge 2 ]
}

# The only host of Studio's local mode looks no name up: the test's name server counts queries.
case_18_studio_looks_nothing_up() {
    [ "$DRIVER" = ns ] || { skip_case "a container has the engine's name server"; return; }
    ring 1
    echo 'nameserver 127.0.0.1' >"$RING/resolv.conf"
    printf '%s' '{"current_host": "sagemaker-local", "hosts": ["sagemaker-local"],
        "network_interface_name": "eth0", "current_instance_type": "local"}' \
        >"$(config 1)/resourceconfig.json"
    cat >"$share/names.pl" <<'END'
use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 53, Proto => "udp") or die $!;
open(my $ready, ">", "$ARGV[0]/ready"); close($ready);
while ($s->recv(my $question, 512)) {
    open(my $f, ">>", "$ARGV[0]/asked"); print $f "x\n"; close($f);
}
END
    hosts start 1 -e SM_STUDIO_LOCAL_MODE=True \
        -p "perl $share/names.pl $share & until [ -e $share/ready ]; do sleep 0.05; done" -- \
        train -- sh -c '
            cat "$0/asked" | wc -l
            timeout 3 getent hosts nowhere.example
            [ -s "$0/asked" ] && echo "and then it counts"' "$share"
    all_end 60 0 1 || return
    check "the program's own question is the first" \
        holds "$(hosts log 1)" 'sagemaker-local rank 0] 0'
    check "which was counted" holds "$(hosts log 1)" 'and then it counts'
}

case_20_memory_runs_out() {
    ring 2
    [ "$DRIVER" = ns ] && control_group memory 300M || {
        skip_case "no control group for memory here"
        return
    }
    for host in $everyone; do
        group=$control/cgroup.procs
        [ "$host" = 2 ] || group=/dev/null
        hosts start "$host" -p "echo \$\$ >$group" -- train -- sh -c '[ $RANK = 1 ] || exec sleep 60
            exec perl -e "\$x = chr(120) x 900000000; sleep 60"'
    done
    all_end 60 137 $everyone
    all_name 'algo-2 rank 1: killed by signal 9 (SIGKILL); out of memory: the kernel killed' \
        $everyone
}

# The expected text depends on whether the kernel counts out-of-memory kills, which the rank finds
# out from its own control group.
case_20_a_kill_is_not_memory() {
    ring 1
    start_all -- train -- sh -c '
        second=$(sed -n "s/^0:://p" /proc/self/cgroup)
        first=$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup)
        for file in "$second/memory.events" /memory.events "/memory$first/memory.oom_control" \
            /memory/memory.oom_control; do
            ! grep -qs "^oom_kill " "/sys/fs/cgroup$file" || echo "kills are counted"
        done
        kill -s KILL $$'
    all_end 60 137 1 || return
    told='; out of memory?'
    ! says 1 'kills are counted' || told='; not for lack of memory'
    all_name "killed by signal 9 (SIGKILL)$told" 1
}

# Sixteen ranks run for three seconds, and rank 10 prints lines that are hard to log.
case_24_short_jobs_and_odd_lines() {
    ring 2
    put hyperparameters.json \
        '{"sagemaker_mpi_num_of_processes_per_host": "8", "sagemaker_program": "program.sh"}'
    code_file program.sh '[ "$RANK" = 10 ] || exec sleep 3
        perl -e "print qq(x) x 1000000, qq(\n), qq(a\203b\n), qq(tab\there\n), qq(10%\r100%\n),
            qq(the last)"
        exec sleep 3'
    fault_begins
    start_all -- train
    all_end 60 0 $everyone || return
    lateness
    took=$(($(last_ended $everyone) - fault_at))
    echo "  a job of 3 s took $took ms; the machine was late by $late"
    in_time "a job of 3 s is out" "$took" 10000
    log=$RING/ten
    hosts log 2 | sed -n 's/^\[algo-2 rank 10\] //p' >"$log"
    check "1 MB is one line" equal "$(awk 'NR == 1 { print length($0) }' "$log")" 1000000
    check "what is no UTF-8 is replaced" grep -q "^$(printf 'a\357\277\275b')\$" "$log"
    check "a tab stays" grep -q "^$(printf 'tab\there')\$" "$log"
    check "a return ends a line" equal "$(grep -c '^100\{0,1\}%$\|^10%$' "$log")" 2
    check "a line without an end comes out" grep -q '^the last$' "$log"
    check "and that is all" equal "$(wc -l <"$log")" 6
}

case_25_words_arrive_as_they_are() {
    ring 2
    put hyperparameters.json \
        '{"odd": "a b; $HOME \"q\"", "lines": "one\ntwo", "sagemaker_program": "program.sh"}'
    code_file program.sh '[ "$#" = 4 ] && [ "$1" = --lines ] && [ "$2" = "one
two" ] && [ "$4" = "a b; \$HOME \"q\"" ] && [ "$SM_HP_ODD" = "$4" ] && [ "$ODD" = "first
\"second\" '"'it'"' \$(false)" ] && echo "all the same"'
    start_all -- sh -c "ODD='first
\"second\" '\\''it'\\'' \$(false)' exec train"
    all_end 60 0 $everyone || return
    every_log_has 'all the same'
}

sixty_four_hostile_words_arrive_on_all_hosts() {
    command -v python3 >/dev/null || { skip_case "no python3 to write them"; return; }
    ring 3
    python3 "$system/hostile.py" "$share/parameters" "$share/words"
    put hyperparameters.json "$(cat "$share/parameters")"
    code_file program.sh 'printf "%s\0" "$@" >/opt/ml/model/words'
    start_all -- train
    all_end 60 0 $everyone || return
    for host in $everyone; do
        check "host $host got what was sent" cmp "$share/words" "$(hosts opt "$host")/model/words"
        check "nothing of it was run on host $host" test ! -e "$(hosts opt "$host")/model/owned"
    done
}

# Every rank gets the signal, in whatever order, within 1 s of the stop, plus the time that the
# machine was late.
case_22_every_rank_hears_a_stop_within_a_second() {
    ring 2
    put hyperparameters.json \
        '{"sagemaker_mpi_num_of_processes_per_host": "4", "sagemaker_program": "program.sh"}'
    code_file program.sh \
        'trap "now=\$(date +%s%3N); echo \$now >/opt/ml/output/heard-$RANK; exit 0" TERM
        : >"/opt/ml/output/ready-$RANK"; sleep 60 & wait'
    heard() { for host in $everyone; do ls "$(hosts opt "$host")/output"; done | grep -c "^$1-"; }
    all_are() { [ "$(heard "$1")" = 8 ]; }
    start_all -- train
    check "all ranks wait" wait_for 60 all_are ready
    fault_begins
    hosts stop 2
    all_end "$PATIENCE" 143 $everyone
    lateness
    check "all ranks heard it" equal "$(heard heard)" 8
    last=$(for host in $everyone; do cat "$(hosts opt "$host")"/output/heard-*; done |
        sort -n | tail -n 1)
    echo "  the last rank heard it after $((last - fault_at)) ms; the machine was late by $late"
    in_time "the last rank heard it" $((last - fault_at)) 1000
}

CASES=${CASES:-case_17_credentials_stay_with_their_host case_18_a_name_that_is_not_known_yet
    case_18_studio_looks_nothing_up case_20_memory_runs_out case_20_a_kill_is_not_memory
    case_22_every_rank_hears_a_stop_within_a_second case_24_short_jobs_and_odd_lines
    case_25_words_arrive_as_they_are sixty_four_hostile_words_arrive_on_all_hosts}
run_cases
finish
