#!/bin/sh
# Tests libraries of devices, which may lack something, crash or hang: a job and `ringmaster check`
# report it, and neither waits. The libraries are stand-ins (tests/support).
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"
[ "$DRIVER" = ns ] || skip "the stand-ins are not in the image"
plugins=$(dirname "$RINGMASTER_BIN")/tests/plugins
[ -e "$plugins/libnccl-net-good.so" ] || skip "the stand-ins are not built"

# The log names a plugin that loads with its version, and any other with the reason.
a_plugin_is_really_loaded() {
    for plugin in good lacking crashing hanging absent; do
        ring 2
        start_all -e "LD_LIBRARY_PATH=$plugins" -e "NCCL_NET_PLUGIN=$plugin" -- \
            train -- sh -c "until [ -e '$share/go-on' ]; do sleep 0.1; done"
        case $plugin in
        good) words='plugin: aws-ofi-nccl 1.13.2-aws .*libnccl-net-good.so) can be loaded' ;;
        lacking)
            words='cannot be used: it needs libraries that are not found: libplugin_absent.so' ;;
        crashing) words='cannot be used: loading it ends the process with SIGSEGV' ;;
        hanging) words='cannot be used: it was not loaded within 1.5 s' ;;
        absent) words='plugin: absent is not there.*; NCCL uses TCP between hosts' ;;
        esac
        for host in $everyone; do
            check "host $host tells of a plugin: $plugin" wait_for "$PATIENCE" \
                says "$host" "$words"
        done
        go_on
        all_end 60 0 $everyone || return
    done
}

# Both plugins have their rows, and the one that hangs does not delay the check.
a_plugin_is_a_row_of_the_check() {
    ring 2
    hosts start 1 -e "LD_LIBRARY_PATH=$plugins" -e NCCL_NET_PLUGIN=good -- ringmaster check
    hosts start 2 -e "LD_LIBRARY_PATH=$plugins" -e NCCL_NET_PLUGIN=hanging -- ringmaster check
    fault_begins
    all_end "$PATIENCE" 0 $everyone || return
    within 5000 $everyone
    check "the good one" says 1 'ok       plugin     algo-1: aws-ofi-nccl 1.13.2-aws'
    check "the other" says 1 \
        'warning  plugin     algo-2: .*cannot be used: it was not loaded within 1.5 s; NCCL uses TCP'
}

# The GPUs of a host are two device files and a stand-in for NVML.
nvml=$(dirname "$RINGMASTER_BIN")/tests/nvml
gpus='mount -t tmpfs tmpfs /mnt &&
    cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /mnt/ &&
    mkdir /mnt/shm /mnt/pts && ln -s /proc/self/fd /mnt/fd && touch /mnt/nvidia0 /mnt/nvidia1 &&
    mount --bind /mnt /dev && mount -t tmpfs -o mode=1777 tmpfs /dev/shm'
with_gpus() {
    host=$1
    words=$2
    shift 2
    hosts start "$host" -p "$gpus" -e "LD_LIBRARY_PATH=$nvml" -e "STANDIN_NVML=$words" "$@"
}

# Faults of GPUs are rows of the check, which takes no longer than usual even where a driver hangs.
gpus_are_checked() {
    ring 4
    with_gpus 1 well -- ringmaster check -- true
    with_gpus 2 sick -- ringmaster check -- true
    with_gpus 3 busy -- ringmaster check -- true
    with_gpus 4 hang -- ringmaster check -- true
    fault_begins
    all_end 60 72 $everyone || return
    within 7000 $everyone
    for row in 'ok       gpu driver algo-1 algo-2 algo-3: 2 answer to NVML' \
        'warning  gpu driver algo-4: their state is not known: no answer within 4.0 s' \
        'bad      gpu ecc    algo-2: GPU 00000000:41:00.0 and 1 more: 3 uncorrected errors of the memory; GPU 00000000:42:00.0 has no spare row' \
        'warning  gpu clocks algo-2: GPU 00000000:42:00.0 is slowed down: it is too hot' \
        'warning  gpu pcie   algo-2: GPU 00000000:41:00.0: 8 lanes of 16' \
        'warning  gpu nvlink algo-2: GPU 00000000:42:00.0: 3 of 4 links up' \
        'warning  gpu memory algo-3: GPU 00000000:41:00.0: 30000 of 80000 MiB in use by pid' \
        'ok       gpu memory algo-1 algo-2: free'; do
        check "a row" says 1 "$row"
    done
}

# Without NVML, as in the static launcher, which loads no library, nvidia-smi provides the data.
smi_of() {
    mkdir -p "$share/smi-$1"
    { echo '#!/bin/sh'; cat; } >"$share/smi-$1/nvidia-smi"
    chmod 755 "$share/smi-$1/nvidia-smi"
}
nvidia_smi_is_asked() {
    ring 3
    for state in well sick; do
        errors=0 failed=No
        [ "$state" = well ] || errors=3 failed=Yes
        smi_of "$state" <<END
case \$1 in
--query-gpu=*name*) printf '%s\n' \
    '00000000:41:00.0, Stand-in, GPU-0, 99, 40, 1500, 1980, 2619, 45, 300.00' ;;
--query-gpu=*) printf '%s\n' '00000000:41:00.0, 80000, 4, Enabled, $errors, 0x0, 5, 5, 16, 16' \
    '00000000:42:00.0, 80000, 30000, Enabled, 0, 0x0, 5, 5, 16, 16' ;;
--query-remapped-rows=*) echo '00000000:42:00.0, No, $failed, 0, 0' ;;
--query-compute-apps=*) echo '00000000:42:00.0, 77, 30000' ;;
esac
END
    done
    echo 'exec sleep 60' | smi_of slow
    host=0
    for state in well sick slow; do
        host=$((host + 1))
        hosts start "$host" -p "$gpus" -e "PATH=$share/smi-$state:$RINGMASTER_BIN:/usr/bin:/bin" \
            -- ringmaster check -- true
    done
    fault_begins
    all_end 60 72 $everyone || return
    within 7000 $everyone
    unloaded='libnvidia-ml.so.1: cannot open.*'
    [ -z "${RINGMASTER_STATIC:-}" ] || unloaded='the static launcher cannot load libnvidia-ml.so.1'
    for row in \
        'bad      gpu ecc    algo-2: GPU 00000000:41:00.0: 3 uncorrected errors of the memory; GPU 00000000:42:00.0 has no spare row' \
        'warning  gpu memory algo-1 algo-2: GPU 00000000:42:00.0: 30000 of 80000 MiB in use by pid 77' \
        "warning  gpu driver algo-3: their state is not known: $unloaded; nvidia-smi did not answer in time"; do
        check "a row" says 1 "$row"
    done
}

# A library that crashes costs only its own row; where there is no library the row has the reason.
no_library_ends_the_check() {
    ring 2
    with_gpus 1 crash -- ringmaster check -- true
    hosts start 2 -p "$gpus" -- ringmaster check -- true
    all_end 60 0 $everyone || return
    check "a crash" says 1 \
        'algo-1: their state is not known: the process that asked for it died of signal 11'
    check "no library" says 1 \
        'algo-2: their state is not known: libnvidia-ml.so.1: cannot open.*; no nvidia-smi in PATH'
}

# The next attempt begins when the GPU's memory is free, not before.
memory_is_waited_for() {
    ring 1
    with_gpus 1 "frees=$share/held" -e RINGMASTER_RESTARTS=1 -- train --once-per-host -- sh -c '
        [ "$RINGMASTER_ATTEMPT" = 1 ] || exit 0
        touch "'"$share"'/held"
        kill -KILL $$'
    check "the attempt is over" wait_for "$PATIENCE" says 1 'attempt 1 is over' || return
    sleep 2
    rm "$share/held"
    all_end 60 0 1 || return
    check "it was waited for" says 1 "the GPUs' memory was free after [0-9]* ms"
}

# An Xid that NVML reports is logged, and decides whether the job restarts.
an_xid_ends_the_job() {
    ring 1
    with_gpus 1 xid=79 -e RINGMASTER_RESTARTS=3 -- \
        train --once-per-host -- sh -c 'sleep 3; kill -KILL $$'
    all_end 60 137 1 || return
    check "it is named" says 1 'NVRM: Xid (PCI:0000:42:00): 79, told by NVML'
    check "no restart" says 1 \
        'no restart, as GPU 0000:42:00 of algo-1 cannot be used before this is done: restart the machine (Xid 79'
    check "the reason" says 1 'there is no other host'
}

# dying_on HOST: the program of a job in which HOST loses a GPU. In the first attempt the rank on
# that host dies after 3 s; ranks of the next attempt return at once and print how many they are.
dying_on() {
    echo "[ \$RINGMASTER_ATTEMPT = 1 ] || { echo again with \$WORLD_SIZE; exit 0; }
        sleep 3; [ \$SM_CURRENT_HOST != algo-$1 ] || kill -KILL \$\$; exec sleep 60"
}

# A GPU that the driver gives up takes its host out of the job, whatever reports it, and the other
# hosts go on.
a_host_with_a_dead_gpu_leaves() {
    for sign in xid=79 lost sick; do
        ring 2
        with_gpus 1 well -e RINGMASTER_RESTARTS=2 -e RINGMASTER_SHRINK=1 -- \
            train --once-per-host -- sh -c "$(dying_on 2)"
        with_gpus 2 "$sign" -e RINGMASTER_RESTARTS=2 -e RINGMASTER_SHRINK=1 -- \
            train --once-per-host -- sh -c "$(dying_on 2)"
        all_end 90 0 1 || return
        check "the sick host ends" hosts wait "$PATIENCE" 2
        check "its code" equal "$(hosts code 2)" 72
        case $sign in
        xid=79)
            words='GPU 0000:42:00 cannot be used before this is done: restart the machine (Xid 79, xid-off-the-bus)' ;;
        lost) words='GPU number 1 does not answer the driver: restart the machine' ;;
        sick)
            words='GPU 00000000:41:00.0 has an error in its memory that could not be corrected: reset the GPU' ;;
        esac
        check "the first host tells why" holds "$(hosts log 1)" "algo-2 is lost: $words"
        check "the event names it" \
            grep -q '"why":"GPU ' "$(hosts opt 1)/output/data/events-algo-1.jsonl"
        all_name "$words; this host leaves the job" 2
        check "the other goes on alone" says 1 'again with 1'
    done
}

# A spare takes the place of the host that leaves, and there are as many ranks as before.
a_spare_takes_the_place_of_a_dead_gpus_host() {
    ring 3
    with_gpus 2 xid=95 -e RINGMASTER_RESTARTS=2 -e RINGMASTER_SPARES=1 -- \
        train --once-per-host -- sh -c "$(dying_on 2)"
    for host in 1 3; do
        with_gpus "$host" well -e RINGMASTER_RESTARTS=2 -e RINGMASTER_SPARES=1 -- \
            train --once-per-host -- sh -c "$(dying_on 2)"
    done
    all_end 90 0 1 3 || return
    check "the sick host ends" hosts wait "$PATIENCE" 2
    check "its code" equal "$(hosts code 2)" 72
    check "all ranks are there" says 3 'again with 2'
}

# The first host leaves only where another host may become the master.
the_first_host_has_a_dead_gpu() {
    for failover in 0 1; do
        ring 3
        mkdir -m 1777 "$share/checkpoints"
        for host in 1 2 3; do
            word=well
            [ "$host" != 1 ] || word=xid=79
            with_gpus "$host" "$word" -e RINGMASTER_RESTARTS=2 -e RINGMASTER_SHRINK=1 \
                -e "RINGMASTER_FAILOVER=$failover" -e RINGMASTER_DEAD_SECONDS=5 \
                -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" \
                -- train --once-per-host -- sh -c "$(dying_on 1)"
        done
        if [ "$failover" = 0 ]; then
            all_end 90 137 $everyone || return
            all_name \
                'GPU 0000:42:00 of algo-1 cannot be used before this is done: restart the machine (Xid 79' \
                $everyone
            all_name 'the first host can leave only with RINGMASTER_FAILOVER=1' $everyone
            continue
        fi
        all_end 120 0 2 3 || return
        check "the sick host ends" hosts wait "$PATIENCE" 1
        check "its code" equal "$(hosts code 1)" 72
        all_name 'this host leaves the job to the others' 1
        check "the others go on" says 2 'again with 2'
    done
}

# The evidence of a crash or a hang has the state of GPUs; a driver that hangs delays neither the
# end of the job nor the report on its ranks.
gpu_evidence() { echo "$(hosts opt "$1")/output/data/evidence-1/algo-$1-gpus.txt"; }
with_evidence() {
    for host in $everyone; do
        folder=$nvml
        [ "$host" != 2 ] || folder=$nvml/hanging
        hosts start "$host" -p "$gpus" -e "LD_LIBRARY_PATH=$folder" \
            -e RINGMASTER_LAUNCHER=direct -- train --once-per-host -- sh -c "$1"
    done
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] begun' || return
    done
}
gpus_are_told_of() {
    for host in 1 3; do
        check "host $host: both GPUs" grep -q 'bus: 00000000:42:00.0' "$(gpu_evidence "$host")"
        check "host $host: utilization" \
            grep -q 'utilization: kernels 99 %, memory 40 %' "$(gpu_evidence "$host")"
    done
    check "host 2: the first GPU" grep -q 'bus: 00000000:41:00.0' "$(gpu_evidence 2)"
    check "host 2: the one that hangs" equal "$(tail -n 1 "$(gpu_evidence 2)")" '== GPU 2 of 2'
}
gpus_are_in_the_evidence_of_a_crash() {
    ring 3
    # The other ranks sleep from the start, so that they wait in a system call when rank 2 ends.
    # shellcheck disable=SC2016  # for the ranks
    with_evidence 'echo begun; [ $RANK = 2 ] || exec sleep 1000
        until [ -e '"$share"'/crash ]; do sleep 0.1; done; kill -s SEGV $$'
    fault_begins
    : >"$share/crash"
    all_end 60 139 $everyone || return
    within "$FAILURE_MS" $everyone
    all_name 'rank 1 on algo-2 (waiting in ' $everyone
    gpus_are_told_of
}
gpus_are_in_the_evidence_of_a_hang() {
    ring 3
    # shellcheck disable=SC2016  # for the ranks
    with_evidence 'echo begun; [ $RANK != 0 ] || kill -s STOP $$; exec sleep 1000'
    fault_begins
    said_within 20000 1 \
        'warning algo-1: the job stands still: 2 of 3 ranks are alike, .*; rank 0 on algo-1 is elsewhere'
    check "what came too late is listed" says 2 'evidence: .*; not in time: gpus'
    gpus_are_told_of
    sed 's/^/  /' "$(gpu_evidence 1)"
    kill -s TERM "$(hosts pid 1)"
    all_end "$PATIENCE" 143 $everyone
}

# The static launcher loads no library, and so runs only the cases that need none.
[ -z "${RINGMASTER_STATIC:-}" ] ||
    CASES=${CASES:-a_plugin_is_really_loaded a_plugin_is_a_row_of_the_check nvidia_smi_is_asked}
CASES=${CASES:-a_plugin_is_really_loaded a_plugin_is_a_row_of_the_check gpus_are_checked
    nvidia_smi_is_asked no_library_ends_the_check memory_is_waited_for an_xid_ends_the_job
    a_host_with_a_dead_gpu_leaves a_spare_takes_the_place_of_a_dead_gpus_host
    the_first_host_has_a_dead_gpu
    gpus_are_in_the_evidence_of_a_crash gpus_are_in_the_evidence_of_a_hang}
run_cases
finish
