# Test cases for strategies with parameter servers: the last of three hosts has the parameters.
# Sourced after lib.sh. The script defines `trains NAME FLAGS...`, $strategy and $stopped_host, the
# host that gets the stop.
# shellcheck shell=sh disable=SC2154

a_stop_ends_servers_and_workers() {
    ring 3
    trains stopped --steps 100000 --strategy "$strategy" --server-hosts 1
    check "it trains" wait_for "$PATIENCE" says 1 'train step=' || return
    hosts stop "$stopped_host"
    all_end "$PATIENCE" 143 $everyone || return
    check "a checkpoint" sh -c "ls $share/stopped/steps/step-*.safetensors >/dev/null"
}

a_lost_server_ends_the_attempt() {
    ring 3
    trains lost --steps 100000 --strategy "$strategy" --server-hosts 1
    check "it trains" wait_for "$PATIENCE" says 1 'train step=' || return
    hosts kill 3
    check "hosts end" hosts wait "$PATIENCE" 1 2 || return
    for host in 1 2; do check "code of host $host" equal "$(hosts code "$host")" 73; done
    all_name 'algo-3' 1 2
}
