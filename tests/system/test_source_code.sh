#!/bin/sh
# Jobs of version 3 of SageMaker's SDK with source_code and the package in sdk/: the SDK's train
# script and channels run under the SDK's own command, bash, on two hosts with two ranks each. The
# SDK comes from PyPI (build/sdk-3). test_sdk.sh runs such jobs in containers, by the SDK's own
# local mode.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"
[ "$DRIVER" = ns ] || skip "test_sdk.sh runs in containers"
VENV_SECONDS=${VENV_SECONDS:-400} sh "$top/tests/venv.sh" sdk-3 'sagemaker-train==1.27.0' \
    'sagemaker-core==2.27.0' || exit

made=$(mktemp -d "$top/build/source_code.XXXXXX") || exit 1
trap 'rm -rf "$made"' EXIT
mkdir "$made/code"
cat >"$made/code/train.py" <<'END'
import os
import signal
import sys
import time

names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")
print("place", *(os.environ[name] for name in names), "words", sys.argv[1:], "process 1 is",
      open("/proc/1/comm", encoding="utf-8").read().strip(), flush=True)
mode = os.environ.get("MODE")
if mode == "fail" and os.environ["RANK"] == "3":
    raise ValueError("no such shard: 7")
if mode in ("fail", "stop"):
    def leave(*_):
        print("rank", os.environ["RANK"], "is told to stop", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, leave)
    print("waiting", flush=True)
    time.sleep(600)
END

# sdk_makes FOLDER [NAME=VALUE]...: the SDK makes a job with these settings, in FOLDER.
sdk_makes() {
    folder=$1
    shift
    PYTHONPATH=$top/sdk PYTHONDONTWRITEBYTECODE=1 AWS_DEFAULT_REGION=us-east-1 \
        AWS_EC2_METADATA_DISABLED=true "$top/build/sdk-3/bin/python" \
        "$top/tests/sdk/source_code.py" "$folder" "$made/code" \
        '{"lr": 0.1, "name": "a b"}' "$@" >"$made/log" 2>&1 || { tail -n 5 "$made/log"; return 1; }
}

two_from() {
    ring 2
    for host in $everyone; do
        cp -r "$1/data" "$(hosts opt "$host")/input/"
        cp "$1/hyperparameters.json" "$(hosts opt "$host")/input/config/"
        chmod -R a+rwX "$(hosts opt "$host")/input"
    done
    command=$(tail -n +3 "$1/command")
}
python=$top/build/sdk-3/bin # the train script asks for python3 and pip3
# The SDK's command runs without the key that a test's hosts have. If a variable has two values, the
# first counts.
sdk_starts() {
    start_all "$@" -e RINGMASTER_KEY= -e TRAINING_JOB_NAME=job-1 \
        -e "PATH=$RINGMASTER_BIN:$python:/usr/bin:/bin" -- /bin/bash -c "$command"
}

places() {
    for rank in 0 1 2 3; do
        check "rank $rank knows its place" holds "$(hosts log $((rank / 2 + 1)))" \
    "rank $rank] place $rank $((rank % 2)) 4 2 $((rank / 2)) words ['--lr', '0.1', '--name', 'a b']"
    done
}
all_waiting() { [ "$(cat "$RING"/host-*/log | grep -c 'rank .*waiting')" = 4 ]; }
all_told() {
    for rank in 0 1 2 3; do
        check "rank $rank is told to stop" holds "$(hosts log $((rank / 2 + 1)))" \
            "rank $rank is told to stop"
    done
}

two_hosts_of_two_ranks_are_one_job() {
    two_from "$made/two"
    sdk_starts
    all_end "$PATIENCE" 0 $everyone || return
    places
    nothing_is_left
    check "the shell has made room" holds "$(hosts log 2)" 'process 1 is ringmaster'
}

a_failing_rank_is_the_verdict_of_both() {
    two_from "$made/two"
    sdk_starts -e MODE=fail
    all_end "$PATIENCE" 1 $everyone || return
    all_name 'program: algo-2 rank 3: exited with 1' $everyone
    all_name 'ValueError: no such shard: 7' $everyone
}

a_stop_reaches_all_ranks() {
    two_from "$made/two"
    sdk_starts -e MODE=stop
    check "all ranks wait" wait_for "$PATIENCE" all_waiting || return
    hosts stop 2
    all_end "$PATIENCE" 143 $everyone || return
    all_told
    all_name 'stopped' $everyone
}

# The package is not needed where the image or the job has a key.
a_command_that_execs_needs_no_package() {
    two_from "$made/command"
    sdk_starts -e MODE=stop -e RINGMASTER_RANKS_PER_HOST=2 -e "RINGMASTER_KEY=$(cat "$RING/key")"
    check "all ranks wait" wait_for "$PATIENCE" all_waiting || return
    hosts stop 1
    all_end "$PATIENCE" 143 $everyone || return
    all_told
}

# As with a bash older than 5.1, the shell stays process 1 and forks for the script.
an_old_bash_says_what_to_do() {
    two_from "$made/two"
    command="$command; exit \$?"
    sdk_starts
    all_end "$PATIENCE" 0 $everyone || return
    places
    check "bash is process 1" holds "$(hosts log 1)" 'process 1 is bash'
    every_log_has "set BASH_ENV=/opt/ml/input/data/sm_drivers/distributed_drivers/stop.sh in"
}

an_old_bash_passes_stops_on_with_our_file() {
    two_from "$made/two"
    sdk_starts -e MODE=stop -e BASH_ENV=/opt/ml/input/data/sm_drivers/distributed_drivers/stop.sh
    check "all ranks wait" wait_for "$PATIENCE" all_waiting || return
    check "the file was read" lacks "$(hosts log 1)" 'stays process 1'
    hosts stop 1
    all_end "$PATIENCE" 143 $everyone || return
    all_told
}

# The image has no ringmaster: the launcher that comes with the driver is as good as another.
the_launcher_comes_with_the_driver() {
    two_from "$made/brought"
    sdk_starts -e "PATH=$python:/usr/bin:/bin"
    all_end "$PATIENCE" 0 $everyone || return
    places
    every_log_has '/tmp/ringmaster-launcher/ringmaster starts the ranks'
}

an_image_without_a_launcher_is_told() {
    two_from "$made/two"
    sdk_starts -e "PATH=$python:/usr/bin:/bin"
    all_end "$PATIENCE" 127 $everyone || return
    all_name 'there is no ringmaster in PATH' $everyone
}

sdk_makes "$made/two" process_count_per_node=2 || { echo "FAILED: the SDK makes no job"; exit 1; }
sdk_makes "$made/brought" process_count_per_node=2 "launcher=\"$RINGMASTER_BIN/ringmaster\"" ||
    exit 1
sdk_makes "$made/command" 'command=exec ringmaster train -- python3 train.py' || exit 1
CASES=${CASES:-two_hosts_of_two_ranks_are_one_job a_failing_rank_is_the_verdict_of_both
    a_stop_reaches_all_ranks a_command_that_execs_needs_no_package an_old_bash_says_what_to_do
    an_old_bash_passes_stops_on_with_our_file the_launcher_comes_with_the_driver
    an_image_without_a_launcher_is_told}
run_cases
finish
