#!/bin/sh
# Tests jobs of three hosts that go well: every rank has the right environment, each host's log has
# its ranks' lines whole and marked, and all hosts exit with 0 together and leave nothing behind.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# Lists the files that a job has left on disk, except those that it was asked for.
left_behind() {
    for host in $everyone; do
        root=$RING/host-$host/root
        # A repository below a folder that hosts have of their own is mounted there (host.c).
        [ "$DRIVER" = docker ] || find "$root/tmp" "$root/run" "$root/var/tmp" -mindepth 1 |
            while IFS= read -r entry; do
                case $root$top/ in
                "$entry"/*) ;;
                *) echo "$entry" ;;
                esac
            done
        find "$root/opt/ml/output" "$root/opt/ml/model" -mindepth 1 ! -path '*/output/data' \
            ! -path '*/output/success' ! -path '*/output/data/events-*.jsonl'
    done
}

all_well() {
    fault_begins
    all_end 60 0 $everyone || return
    together $everyone
    nothing_is_left
    check "no file is left behind" equal "$(left_behind)" ""
}

every_rank_knows_its_place() {
    ring 3
    start_all -- train -- sh -c 'echo "place $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR" \
        "$SM_CURRENT_HOST $SM_NUM_GPUS args:$#:$1"' program 'a "b" $c;d'
    all_well || return
    for host in 1 2 3; do
        check "host $host prints its own rank, marked" holds "$(hosts log "$host")" \
            "[algo-$host rank $((host - 1))] place $((host - 1)) 0 3 "
        check "host $host has its own SM_CURRENT_HOST" holds "$(hosts log "$host")" " algo-$host "
        check "arguments arrive as they were" holds "$(hosts log "$host")" 'args:1:a "b" $c;d'
    done
    check "others' lines stay with them" lacks "$(hosts log 2)" '[algo-3 rank'
}

# A rule that a container engine left behind does this. A container may not set such rules.
translated_addresses_are_reported() {
    ring 2
    hosts start 1 -- train -- true
    hosts start 2 -p 'ip address add 10.77.0.99/24 dev eth0 &&
        iptables -t nat -A POSTROUTING -p tcp --dport 7070 -j SNAT --to-source 10.77.0.99' -- \
        train -- true
    all_well || return
    check "the master says so" holds "$(hosts log 1)" \
        'algo-2 sends from 10.77.0.2 and arrives from 10.77.0.99'
    check "a host of its own address is not logged" lacks "$(hosts log 1)" 'algo-1 sends from'
}

# What host 2 sends reaches host 1 from another address, as with a bridge that masquerades: Open MPI
# drops each such connection and reports it, and its ranks would wait forever.
translated_connections_end_the_job() {
    ring 2
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    masquerade='iptables -t nat -A INPUT -p tcp -s 10.77.0.2 -j SNAT --to-source 10.77.0.98'
    hosts start 1 -p "$masquerade" -- train -- "$share/probe_mpi" "$share" 1
    hosts start 2 -- train -- "$share/probe_mpi" "$share" 1
    all_end "$PATIENCE" 65 1 2 || return
    all_name "algo-2 has the address 10.77.0.2, and its ranks' connections arrive from 10.77.0.98" \
        1 2
    ring 2
    hosts start 1 -p "$masquerade" -- ringmaster check
    hosts start 2 -- ringmaster check
    all_end "$PATIENCE" 0 1 2 || return
    check "a check warns of it" holds "$(hosts log 1)" \
        'algo-2 sends from 10.77.0.2 and arrives from 10.77.0.98'
    check "in a row" holds "$(hosts log 1)" 'addresses '
}

two_ranks_a_host() {
    ring 3
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(hosts opt "$host")/input/config/hyperparameters.json"
    done
    start_all -- train -- sh -c 'echo "rank $RANK of $WORLD_SIZE local $LOCAL_RANK"'
    all_well || return
    check "rank 3 is the second of algo-2" holds "$(hosts log 2)" \
        '[algo-2 rank 3] rank 3 of 6 local 1'
}

# A script finds its rank as PyTorch Lightning does, by its host's index (two names) and its local
# rank, whatever NODE_RANK the platform has set. Two ranks share the host's processors.
frameworks_find_their_ranks() {
    ring 3
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(config "$host")/hyperparameters.json"
    done
    start_all -e NODE_RANK=7 -- train -- sh -c '
        for node in "$NODE_RANK" "$GROUP_RANK"; do
            [ $((node * LOCAL_WORLD_SIZE + LOCAL_RANK)) = "$RANK" ] || exit 9
        done
        [ $((GROUP_WORLD_SIZE * LOCAL_WORLD_SIZE)) = "$WORLD_SIZE" ] || exit 10
        echo "$ROLE_NAME $ROLE_RANK of $ROLE_WORLD_SIZE in $TORCHELASTIC_RUN_ID," \
            "start $TORCHELASTIC_RESTART_COUNT, $OMP_NUM_THREADS threads of $(nproc)"'
    all_well || return
    threads=$(($(nproc) / 2))
    [ "$threads" -gt 0 ] || threads=1
    check "rank 3 knows its place" holds "$(hosts log 2)" '[algo-2 rank 3] default 3 of 6 in '
    check "and its share" holds "$(hosts log 2)" "start 0, $threads threads of "
    check "which is logged" holds "$(hosts log 2)" \
        "OMP_NUM_THREADS is not set: $threads for each of this host's 2 ranks, their share of its "
    check "once" equal "$(hosts log 2 | grep -c 'OMP_NUM_THREADS is not set')" 1
}

# Ranks hang before they have done any work, as at a rendezvous: RINGMASTER_IDLE_SECONDS ends them.
a_job_that_hangs_at_once_is_ended() {
    ring 2
    start_all -e RINGMASTER_IDLE_SECONDS=8 -- train -- sh -c 'echo begun; exec sleep 1000'
    all_end "$PATIENCE" 74 $everyone || return
    check "the log says why" holds "$(hosts log 1)" 'all ranks are silent and idle'
    all_name 'no progress within its limit' $everyone
}

# Two ranks wait for a pipe's writer, as in a collective, and the third one sleeps.
a_rank_that_is_left_out_is_named() {
    ring 3
    start_all -e RINGMASTER_IDLE_SECONDS=8 -- train -- sh -c '
        [ "$RANK" != 1 ] || exec sleep 1000
        pipe=$(mktemp -u) && mkfifo "$pipe" && exec cat "$pipe"'
    all_end "$PATIENCE" 74 $everyone || return
    all_name 'algo-2 rank 1: no progress within its limit' $everyone
    all_name 'it waits elsewhere than all others; its threads: pid ' $everyone
    all_name 'algo-1 rank 0: pid ' $everyone
    check "and in the log" holds "$(hosts log 1)" \
        'algo-2 rank 1 waits elsewhere than all others: was it left out of a collective?'
}

# `docker kill --signal` or a scheduler sends a signal to one container: only its ranks get it.
a_users_signal_stays_on_its_host() {
    ring 2
    start_all -e "TEST_SHARE=$share" -- train -- sh -c '
        trap "echo heard one" USR1
        echo ready
        until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] ready' || return
    done
    kill -s USR1 "$(hosts pid 2)"
    check "rank 1 hears it" wait_for "$PATIENCE" says 2 'rank 1] heard one'
    : >"$share/enough"
    all_well || return
    check "host 2 says so" holds "$(hosts log 2)" 'SIGUSR1: passed on to 1 rank of this host'
    check "the other one hears nothing" lacks "$(hosts log 1)" 'heard one'
}

# A scheduler sends a signal to all processes of a job, even mpirun and its daemons: it ends none.
a_users_signal_to_all_processes_ends_nothing() {
    ring 2
    start_all -e "TEST_SHARE=$share" -- train -- sh -c '
        trap "echo heard one" USR1 USR2 ALRM QUIT CONT
        echo ready
        until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] ready' || return
    done
    for signal in USR1 USR2 ALRM QUIT CONT; do
        for host in $everyone; do
            # shellcheck disable=SC2046  # process numbers; a short-lived one may be gone
            kill -s "$signal" $(hosts pids "$host") 2>/dev/null || :
        done
    done
    for host in $everyone; do
        check "the rank on host $host hears it" wait_for "$PATIENCE" says "$host" 'heard one'
    done
    : >"$share/enough"
    all_well
}

ranks_meet_by_mpi() {
    ring 3
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    start_all -- train -- "$share/probe_mpi" "$share" 1
    all_well || return
    check "rank 2 has joined" holds "$(hosts log 3)" '[algo-3 rank 2] rank 2 of 3 has joined'
    from_the_last_rank
    within "$LEAVE_MS" $everyone
}

ringtrain_trains() {
    [ -x "$RINGMASTER_BIN/ringtrain" ] || [ "$DRIVER" = docker ] ||
        { skip_case "ringtrain is not built"; return; }
    ring 3
    start_all -- train --data synthetic --model resnet20 --batch-size 8 --steps 3 --report-every 1
    # The model in /opt/ml/model stays, so this is not all_well.
    all_end 120 0 $everyone || return
    check "rank 0 reports" holds "$(hosts log 1)" '[algo-1 rank 0] train step=3 '
    check "rank 0 evaluates" holds "$(hosts log 1)" '[algo-1 rank 0] eval epoch='
    check "no other rank reports" lacks "$(hosts log 2)$(hosts log 3)" 'train step='
    check "the master has the model" test -s "$(hosts opt 1)/model/model.safetensors"
}

# Any program may follow --, even ringtrain, whatever starts its ranks.
ringtrain_is_named_as_the_program() {
    [ -x "$RINGMASTER_BIN/ringtrain" ] || [ "$DRIVER" = docker ] ||
        { skip_case "ringtrain is not built"; return; }
    ring 3
    start_all -- train -- ringtrain train --data synthetic --model resnet20 --batch-size 8 \
        --steps 3 --report-every 1
    all_end 120 0 $everyone || return
    check "rank 0 reports" holds "$(hosts log 1)" '[algo-1 rank 0] train step=3 '
    check "no other rank reports" lacks "$(hosts log 2)$(hosts log 3)" 'train step='
}

lines_stay_whole_and_valid() {
    ring 3
    start_all -- train -- sh -c 'printf "one byte \203 of Latin 1\n"
        head -c 30000 /dev/zero | tr "\0" x; echo
        i=0; while [ $i -lt 2000 ]; do echo "line $i of two thousand"; i=$((i + 1)); done
        printf "no end"'
    all_well || return
    for host in $everyone; do
        log=$(hosts log "$host")
        check "host $host prints valid UTF-8" utf8 "$host"
        check "host $host keeps all lines" equal "$(echo "$log" |
            grep -c "^\[algo-$host rank $((host - 1))\] line [0-9]* of two thousand")" 2000
        check "host $host keeps a long line" equal "$(echo "$log" | grep -c 'x\{30000\}$')" 1
        check "host $host keeps a last line without end" holds "$log" '] no end'
    done
}
utf8() { hosts log "$1" | iconv -f UTF-8 -t UTF-8 >/dev/null; }

the_master_prints_all_if_asked() {
    ring 3
    start_all -e RINGMASTER_LOGS=master -- train -- sh -c 'echo "hello from $RANK"'
    all_well || return
    for host in 1 2 3; do
        check "the master's log has rank $((host - 1))" holds "$(hosts log 1)" \
            "[algo-$host rank $((host - 1))] hello from $((host - 1))"
    done
}

ten_jobs_of_one_instant() {
    for job in 1 2 3 4 5 6 7 8 9 10; do
        ring 3
        start_all -- train -- true
        all_well || return
    done
    echo "  $job jobs"
}

# The first attempt fails on the second host; the next one has one rank per host, too.
once_per_host() {
    ring 2
    put hyperparameters.json '{"sagemaker_mpi_num_of_processes_per_host": "4"}'
    start_all -e RINGMASTER_RESTARTS=1 -- train --once-per-host -- sh -c '
        echo "place $SM_CURRENT_HOST $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE" \
            "${CUDA_VISIBLE_DEVICES-all} $SM_NUM_GPUS"
        [ "$RANK$RINGMASTER_ATTEMPT" != 11 ] || kill -s KILL $$'
    all_end 60 0 1 2 || return
    gpus=$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)
    check "host 1 runs one, with all devices" equal \
        "$(hosts log 1 | grep -c "place algo-1 0/2 0/1 all $gpus")" 2
    check "host 2 too" equal "$(hosts log 2 | grep -c "place algo-2 1/2 0/1 all $gpus")" 2
    check "and there are no others" equal "$(hosts log 2 | grep -c 'place')" 2
    ring 2
    start_all -- train --once-per-host -- sh -c '[ $RANK = 0 ] || exit 9; exec sleep 60'
    all_end "$PATIENCE" 9 1 2
    all_name 'algo-2 rank 1: exited with 9' 1 2
}

one_network_for_all_libraries() {
    ring 2
    start_all -e FI_TCP_IFACE=ib7 -- train -- sh -c \
        'echo "told $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $TP_SOCKET_IFNAME $FI_TCP_IFACE"'
    all_end 60 0 1 2 || return
    every_log_has 'told =eth0 eth0 eth0 ib7'
    every_log_has ' on eth0, as configured; Open MPI'
    every_log_has 'except what the job sets itself: FI_TCP_IFACE=ib7'
}

one_host_alone() {
    ring 1
    rm "$(hosts opt 1)"/input/config/*
    start_all -- train -- sh -c 'echo "alone $RANK of $WORLD_SIZE"'
    all_well || return
    check "it is rank 0 of 1" holds "$(hosts log 1)" 'alone 0 of 1'
    check "which is logged" holds "$(hosts log 1)" \
        'this host is a job of its own: neither RINGMASTER_HOSTS nor a platform names others'
}

# A small job has a heartbeat every half second. While ranks rest, only that wakes a worker's first
# process, which then looks at its ranks. The first host's wakes once more, for the answers.
wakes() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$(hosts pid "$1")/status"; }
sleep_between_heartbeats() {
    start_all "$@" -e "TEST_SHARE=$share" -- train -- sh -c "echo rests; $until_enough"
    for host in $everyone; do
        check "the rank of host $host rests" wait_for "$PATIENCE" says "$host" '] rests' || return
    done
    sleep 1
    from=$(now_ms) master=$(wakes 1) worker=$(wakes 2)
    sleep 6
    master=$(($(wakes 1) - master)) worker=$(($(wakes 2) - worker)) took=$(($(now_ms) - from))
    echo \
        "  in $took ms the first host's first process wakes $master times, a worker's $worker times"
    beats=$((took / 500 + 1))
    # The kernel also counts waits for memory or for a lock, which happen on a busy machine.
    check "a worker wakes twelve times in 6 s, or it is another time by then" at_most "$worker" \
        $((beats + 2))
    check "the first host wakes twice as often" at_most "$master" $((2 * beats + 4))
    : >"$share/enough"
    all_well
}
until_enough='until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done'
first_processes_sleep_between_heartbeats() {
    ring 2
    sleep_between_heartbeats
}
first_processes_that_may_be_followed_sleep_as_well() {
    ring 2
    mkdir "$share/checkpoints"
    chmod 1777 "$share/checkpoints"
    sleep_between_heartbeats -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1 \
        -e RINGMASTER_FAILOVER=1 -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
}

# Nothing wakes it before a silence has lasted long, or at all with RINGMASTER_STALL_SECONDS=0. Once
# a rank has reported progress, it looks after 4, 8, 16 ... s.
a_first_process_alone_sleeps() {
    for stall in 600 0; do
        ring 1
        rm "$(hosts opt 1)"/input/config/*
        start_all -e RINGMASTER_STALL_SECONDS=$stall -e "TEST_SHARE=$share" -- train -- sh -c \
            'echo rests; until [ -e "$TEST_SHARE/show" ]; do sleep 0.2; done
            printf "\1" | dd of="$RINGMASTER_PROGRESS" conv=notrunc 2>/dev/null; '"$until_enough"
        check "its rank rests" wait_for "$PATIENCE" says 1 '] rests' || return
        sleep 1
        alone=$(wakes 1)
        sleep 20
        silent=$(($(wakes 1) - alone))
        : >"$share/show"
        sleep 6
        shown=$(($(wakes 1) - alone - silent))
        echo "  a first process alone wakes $silent times in 20 s," \
        "$shown in 6 s of progress, with $stall s of stall"
        check "nothing wakes it" at_most "$silent" 0
        check "progress does, or not" equal "$((shown > 0))" $((stall > 0))
        check "and it looks once by then" at_most "$shown" 2
        : >"$share/enough"
        all_well || return
    done
}

a_umask_against_the_owner_is_not_kept() {
    ring 2
    start_all -- sh -c 'umask 777; exec train -- sh -c "echo \"mask \$(umask)\""'
    all_well || return
    check "others are still kept out" holds "$(hosts log 1)" 'mask 0077'
}

hosts_named_by_a_variable() {
    ring 3
    for host in $everyone; do rm "$(hosts opt "$host")"/input/config/*; done
    for host in $everyone; do
        hosts start "$host" -e RINGMASTER_HOSTS=algo-1:2,algo-2,algo-3 \
            -e "RINGMASTER_HOST=algo-$host" -- train -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'
    done
    all_well || return
    check "algo-1 has two slots" holds "$(hosts log 1)" '[algo-1 rank 1] rank 1 of 4'
}

# Each host has two ranks; the second host has no room for the files that they share.
ranks_share_memory_where_there_is_room() {
    ring 2
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(config "$host")/hyperparameters.json"
    done
    hosts start 1 -- train -- "$share/probe_mpi" "$share" 1
    hosts start 2 -p 'mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm' -- train -- \
        "$share/probe_mpi" "$share" 1
    all_well || return
    check "all four have met" holds "$(hosts log 2)" '[algo-2 rank 3] rank 3 of 4 has joined'
    check "the second host says what it does" holds "$(hosts log 2)" \
        '/dev/shm has 1 MiB left, and 2 ranks share 9: what they share lies in /'
    check "once" equal "$(hosts log 2 | grep -c 'ranks here')" 1
    check "the first one has room" lacks "$(hosts log 1)" 'MiB left'
}

hosts_are_checked() {
    ring 3
    start_all -- ringmaster check
    all_well || return
    for row in 'ok       host       all 3 hosts: joined' \
        "ok       cores      all 3 hosts: $(nproc) for 1 rank" \
        'ok       reach      all 3 hosts: 6 connections' 'ok       bandwidth  all 3 hosts: '; do
        check "there is a row '$row'" holds "$(hosts log 1)" "$row"
    done
    check "it says that the job can run" holds "$(hosts log 1)" '3 hosts can run 3 ranks'
    check "no rank was started" lacks "$(hosts log 1)$(hosts log 2)" ' rank '
}

# Makes a host's /dev and /sys show a RoCE device with the job's interface. There is no such device,
# so Open MPI, which is told to use UCX, must fall back to TCP, and ranks meet.
roce='dev=/tmp/dev sys=/tmp/sys/infiniband/mlx5_0
    mkdir -p $dev/infiniband $dev/shm $dev/pts $sys/ports/1 $sys/device/net/eth0 \
        /tmp/sys/infiniband_verbs/uverbs0
    ln -s ../../../bus/pci/drivers/mlx5_core $sys/device/driver
    echo mlx5_0 >/tmp/sys/infiniband_verbs/uverbs0/ibdev
    echo Ethernet >$sys/ports/1/link_layer
    echo "4: ACTIVE" >$sys/ports/1/state
    echo 0 >$sys/device/net/eth0/dev_port
    : >$dev/infiniband/uverbs0
    for node in null zero full random urandom tty; do
        : >$dev/$node && mount --bind /dev/$node $dev/$node
    done
    for folder in shm pts; do mount --bind /dev/$folder $dev/$folder; done
    ln -s /proc/self/fd $dev/fd && ln -s pts/ptmx $dev/ptmx
    mount --rbind $dev /dev && mkdir /tmp/sys/net && mount --bind /sys/class/net /tmp/sys/net &&
        mount --bind /tmp/sys /sys/class'
ranks_talk_by_ucx_where_all_hosts_can() {
    program='echo "ucx $OMPI_MCA_pml $UCX_NET_DEVICES" && exec "$0" "$1" 1'
    for last in "$roce" :; do
        ring 2
        cp "$RINGMASTER_BIN/probe_mpi" "$share/"
        hosts start 1 -p "$roce" -- train -- sh -c "$program" "$share/probe_mpi" "$share"
        hosts start 2 -p "$last" -- train -- sh -c "$program" "$share/probe_mpi" "$share"
        all_end 60 0 $everyone || return
        check "rank 1 has joined" holds "$(hosts log 2)" 'rank 1 of 2 has joined'
        if [ "$last" = : ]; then
            check "it is logged" holds "$(hosts log 1)" \
                '1 of 2 hosts have an InfiniBand or RoCE device'
            check "ranks talk by TCP" holds "$(hosts log 1)" 'ucx ob1 mlx5_0:1'
            check "the other one has no device" holds "$(hosts log 2)" 'ucx ob1 eth0'
        else
            check "it is logged" holds "$(hosts log 1)" \
                'every host has an InfiniBand or RoCE device of a driver mlx*: Open MPI chooses UCX'
            every_log_has 'ucx ^cm mlx5_0:1'
        fi
    done
    ring 2
    put hyperparameters.json \
        '{"sagemaker_mpi_custom_mpi_options": "--mca pml ob1 -x UCX_NET_DEVICES=mlx5_9:1"}'
    start_all -p "$roce" -- train -- sh -c 'echo "ucx $OMPI_MCA_pml $UCX_NET_DEVICES"'
    all_end 60 0 $everyone || return
    every_log_has 'ucx ob1 mlx5_9:1'
    check "nothing is chosen for who chooses" lacks "$(hosts log 1)" 'chooses UCX'
}

CASES=${CASES:-every_rank_knows_its_place two_ranks_a_host frameworks_find_their_ranks
    a_job_that_hangs_at_once_is_ended a_rank_that_is_left_out_is_named ranks_meet_by_mpi
    ringtrain_trains ringtrain_is_named_as_the_program
    lines_stay_whole_and_valid the_master_prints_all_if_asked ten_jobs_of_one_instant
    once_per_host one_network_for_all_libraries one_host_alone
    $([ "$DRIVER" = docker ] ||
        echo first_processes_sleep_between_heartbeats a_first_process_alone_sleeps \
            first_processes_that_may_be_followed_sleep_as_well)
    a_umask_against_the_owner_is_not_kept hosts_named_by_a_variable hosts_are_checked
    $([ "$DRIVER" = docker ] ||
        echo a_users_signal_stays_on_its_host a_users_signal_to_all_processes_ends_nothing \
            ranks_talk_by_ucx_where_all_hosts_can translated_addresses_are_reported \
            translated_connections_end_the_job ranks_share_memory_where_there_is_room)}
run_cases
finish
