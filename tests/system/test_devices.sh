#!/bin/sh
# Libraries of devices, which may lack something, crash or hang: a job and `ringmaster check` say so,
# and neither waits. The libraries are stand-ins (tests/support).
. "$(dirname "$0")/lib.sh"
[ "$DRIVER" = ns ] || skip "the stand-ins are not in the image"
plugins=$(dirname "$RINGMASTER_BIN")/tests/plugins
[ -e "$plugins/libnccl-net-good.so" ] || skip "the stand-ins are not built"

# One that loads is told of with its version, and others with the reason.
a_plugin_is_really_loaded() {
    for plugin in good lacking crashing hanging absent; do
        ring 2
        start_all -e "LD_LIBRARY_PATH=$plugins" -e "NCCL_NET_PLUGIN=$plugin" -- train -- sleep 4
        all_end 60 0 $everyone || return
        case $plugin in
        good) words='plugin: aws-ofi-nccl 1.13.2-aws .*libnccl-net-good.so) can be loaded' ;;
        lacking) words='cannot be used: it needs libraries that are not found: libplugin_absent.so' ;;
        crashing) words='cannot be used: loading it ends the process with SIGSEGV' ;;
        hanging) words='cannot be used: it was not loaded within 1.5 s' ;;
        absent) words='plugin: absent is not there.*; NCCL uses TCP between hosts' ;;
        esac
        for host in $everyone; do
            check "host $host tells of a plugin: $plugin" says "$host" "$words"
        done
    done
}

# Rows, within the time of a check.
a_plugin_is_a_row_of_the_check() {
    ring 2
    hosts start 1 -e "LD_LIBRARY_PATH=$plugins" -e NCCL_NET_PLUGIN=good -- ringmaster check
    hosts start 2 -e "LD_LIBRARY_PATH=$plugins" -e NCCL_NET_PLUGIN=hanging -- ringmaster check
    fault_begins
    all_end 30 0 $everyone || return
    within 5000 $everyone
    check "the good one" says 1 'ok       plugin     algo-1: aws-ofi-nccl 1.13.2-aws'
    check "the other" says 1 \
        'warning  plugin     algo-2: .*cannot be used: it was not loaded within 1.5 s; NCCL uses TCP'
}

CASES=${CASES:-a_plugin_is_really_loaded a_plugin_is_a_row_of_the_check}
run_cases
finish
