#!/bin/sh
# Parameter servers on the last host of a job (--strategy ps-sync --server-hosts): the model is bit
# for bit that of allreduce among the other hosts; a stop ends all with one exit code and a
# checkpoint; and the server's host is lost.
# shellcheck disable=SC2034,SC2154  # variables for servers.sh, and of lib.sh
. "$(dirname "$0")/lib.sh"

[ -x "$RINGMASTER_BIN/ringtrain" ] || skip "$RINGMASTER_BIN/ringtrain is not built"
compare=$(dirname "$RINGMASTER_BIN")/tests/weights_compare
[ -x "$compare" ] || skip "$compare is not built"

# trains NAME FLAGS...: starts a training with two ranks a host, which adds sums in one order.
trains() {
    name=$1
    shift
    mkdir -m 1777 "$share/$name"
    start_all -e RINGMASTER_RANKS_PER_HOST=2 -- ringmaster train --data synthetic \
        --synthetic-images 64 --model resnet20 --image-size 32 --batch-size 2 --threads 1 \
        --data-threads 1 --validation none --comm tcp --report-every 1 \
        --model-dir "$share/$name/model" --checkpoint-dir "$share/$name/steps" "$@"
}
prints() { echo "$1" | grep -qE -- "$2" || { echo "  no line like '$2'"; return 1; }; }

workers_leave_the_bits_of_allreduce() {
    ring 3
    trains servers --steps 4 --strategy ps-sync --server-hosts 1 --optimizer adamw --lr 0.001
    all_end "$PATIENCE" 0 $everyone || return
    log=$(hosts log 1)
    check "roles: $(echo "$log" | grep -i server | head -n 3)" prints "$log" 'server'
    # The next ring removes this one's share.
    kept=$(mktemp) && cp "$share/servers/model/model.safetensors" "$kept"
    ring 2
    trains alone --steps 4 --optimizer adamw --lr 0.001
    all_end "$PATIENCE" 0 $everyone &&
        check "the same bits" "$compare" "$kept" "$share/alone/model/model.safetensors" exact ""
    rm -f "$kept"
}

strategy=ps-sync stopped_host=3
. "$system/servers.sh"

CASES=${CASES:-workers_leave_the_bits_of_allreduce a_stop_ends_servers_and_workers
    a_lost_server_ends_the_attempt}
run_cases
finish
