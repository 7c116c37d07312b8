#!/bin/sh
# Tests jobs that hang: which rank the first host's log names, how soon, and what the evidence
# folder holds.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

# The longest time from a rank's last sign of progress to the warning.
NAMED_MS=20000
evidence() { echo "$(hosts opt "$1")/output/data/evidence-1"; }
has_tool() { command -v gdb >/dev/null || command -v eu-stack >/dev/null; }

# named TEXT: the first host's log has the warning with TEXT in time, and every host has its
# evidence.
named() {
    said_within "$NAMED_MS" 1 "warning algo-1: the job stands still: $1"
    hosts log 1 | grep 'stands still: ' | sed 's/^/  /'
    for host in $everyone; do
        check "host $host has threads of its rank" \
            [ -s "$(evidence "$host")/algo-$host-rank-$((host - 1))-threads.txt" ]
        check "host $host has stacks of its rank" \
            [ -s "$(evidence "$host")/algo-$host-rank-$((host - 1))-stacks.txt" ]
        check "host $host has its state" [ -s "$(evidence "$host")/algo-$host-state.txt" ]
    done
    ls -l "$(evidence 2)" | sed 's/^/  /'
}
# A suspicion does not end the job, so the test stops it.
stop_it() {
    for host in $everyone; do
        check "host $host runs" equal "$(hosts code "$host" 2>/dev/null)" ''
    done
    kill -s TERM "$(hosts pid 1)"
    all_end "$PATIENCE" 143 $everyone
}

a_rank_left_out_of_an_allreduce_is_named() {
    [ -x "$RINGMASTER_BIN/probe_hang" ] || { skip_case "no Open MPI here"; return; }
    has_tool || { skip_case "neither gdb nor eu-stack here"; return; }
    ring 3
    start_all -e RINGMASTER_LAUNCHER=mpirun -- train -- "$RINGMASTER_BIN/probe_hang" "$share" 2
    check "ranks meet" wait_for "$PATIENCE" says 1 'has met all others' || return
    # The first host must learn the ranks' rhythm: they poll, and use a processor while they wait.
    sleep 15
    fault_begins
    : >"$share/hang"
    named '2 of 3 ranks wait in MPI_Allreduce; rank 2 on algo-3 has not come: it is at '
    check "its stack says where" grep -q left_out "$(evidence 3)"/*-stacks.txt
    stop_it
}

# Two ranks wait for a connection, and one for a lock that it holds itself.
a_deadlocked_python_program_is_named() {
    ring 3
    # shellcheck disable=SC2016  # for Python
    start_all -e RINGMASTER_LAUNCHER=direct -- train -- python3 -c '
import os, socket, threading
print("begun", flush=True)
if os.environ["RANK"] == "1":
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
listener = socket.create_server(("127.0.0.1", 0))
listener.accept()'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] begun' || return
    done
    fault_begins
    named '2 of 3 ranks are alike, .*; rank 1 on algo-2 is elsewhere: '
    stop_it
}

a_stopped_rank_is_named() {
    ring 3
    start_all -e RINGMASTER_LAUNCHER=direct -- train -- sh -c 'echo begun; exec sleep 1000'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] begun' || return
    done
    signal_program 2 STOP sleep
    fault_begins
    named '2 of 3 ranks are alike, .*; rank 1 on algo-2 is elsewhere: it is stopped by a signal'
    stop_it
}

# The user's own limit, RINGMASTER_STALL_SECONDS, ends the job, and the failure file has the
# finding.
a_hang_ends_where_the_user_says() {
    ring 3
    start_all -e RINGMASTER_LAUNCHER=direct -e RINGMASTER_STALL_SECONDS=20 -- \
        train -- sh -c 'echo begun; [ $RANK != 2 ] || kill -s STOP $$; exec sleep 1000'
    all_end "$PATIENCE" 74 $everyone || return
    all_name 'rank 2: no progress within its limit' $everyone
    all_name 'stuck: 2 of 3 ranks are alike, ' $everyone
}

# ask_nccl MODE: the first host runs a stand-in for NCCL's RAS (tests/support/ras_server.py). Ranks
# print all the time, so that nothing else is suspect.
ask_nccl() {
    ring 4
    start_all -e RINGMASTER_LAUNCHER=direct -e NCCL_RAS_ADDR=127.0.0.1:28028 \
        -e "TEST_SHARE=$share" -e "TEST_TOP=$top" -e "TEST_MODE=$1" -- train -- sh -c '
        [ "$TEST_MODE" != part ] || echo "$$ $(hostname)" >"$TEST_SHARE/process-$RANK"
        [ $RANK != 0 ] ||
            python3 "$TEST_TOP/tests/support/ras_server.py" 28028 "$TEST_MODE" "$TEST_SHARE" &
        until [ -e "$TEST_SHARE/enough" ]; do echo working; sleep 0.5; done
        kill $! 2>/dev/null; exit 0'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] working' || return
    done
}
enough() {
    : >"$share/enough"
    all_end "$PATIENCE" 0 $everyone
}
nccl_names_the_rank_that_has_not_come() {
    for mode in later text; do
        ask_nccl "$mode" || return
        fault_begins
        : >"$share/hang"
        said_within "$NAMED_MS" 1 \
            "warning algo-1: the job stands still: NCCL's AllReduce number 41 of communicator .* waits for 1 .*rank 2 on "
        hosts log 1 | grep 'stands still: ' | sed 's/^/  /'
        check "what NCCL says is kept" wait_for "$PATIENCE" \
            [ -s "$(evidence 1)/algo-1-nccl-ras.txt" ]
        enough
    done
}
# A communicator numbers its ranks itself; the warning has the job's rank, found by the process.
nccl_names_a_rank_by_the_number_of_the_job() {
    ask_nccl part || return
    fault_begins
    said_within "$NAMED_MS" 1 \
        "warning algo-1: the job stands still: NCCL's AllReduce number 41 of communicator .* waits for 1 of 2 ranks: rank 3 on algo-4\$"
    hosts log 1 | grep 'stands still: ' | sed 's/^/  /'
    enough
}
nccl_names_ranks_that_do_not_answer() {
    ask_nccl dead || return
    fault_begins
    said_within "$NAMED_MS" 1 \
        'warning algo-1: the job stands still: NCCL hears nothing of 1 of 4 ranks of communicator .*: rank 3 on '
    enough
}
# nothing_is_found MODE: this answer of NCCL is no finding, however long it lasts. The modes are
# those of ras_server.py.
nothing_is_found() {
    ask_nccl "$1" || return
    sleep 22
    enough
    check "nothing is found: $1" lacks "$(hosts log 1)" 'stands still'
}
nccl_says_that_all_are_equal() { nothing_is_found equal; }
nccl_says_that_all_move() { nothing_is_found moving; }
nccl_says_garbage() { nothing_is_found garbage; }
nccl_says_half() { nothing_is_found half; }
nccl_is_slow() { nothing_is_found slow; }
nccl_comes_to_no_end() { nothing_is_found endless; }

# Unchanged PyTorch runs on three hosts. Its packages come from PyPI, so the case runs only in
# `sh tests/run.sh long`.
a_rank_left_out_of_ddp_over_gloo_is_named() {
    # gdb first reads all symbols of PyTorch's libraries, which exceeds the time for evidence.
    command -v eu-stack >/dev/null || { skip_case "no eu-stack here"; return; }
    venv=$top/build/guests
    VENV_SECONDS=${VENV_SECONDS:-3000} sh "$top/tests/venv.sh" guests torch lightning accelerate \
        transformers mpi4py ||
        { skip_case "no way to PyTorch's packages"; return; }
    as_root_for "$venv/bin/python3"
    ring 3
    start_all -e RINGMASTER_LAUNCHER=direct -e RINGMASTER_EVIDENCE_SIGNAL=1 -e OMP_NUM_THREADS=1 \
        -e USER=guest -e HOME=/opt/ml/home -e "PATH=$RINGMASTER_BIN:$venv/bin:/usr/bin:/bin" \
        -e PYTHONDONTWRITEBYTECODE=1 -- train -- python3 "$system/guests/hang_ddp.py" "$share" 1
    for host in $everyone; do
        check "host $host learns" wait_for 240 says "$host" 'step 11: all have met' || return
    done
    fault_begins
    : >"$share/hang"
    named '2 of 3 ranks wait in all_reduce of gradients (DistributedDataParallel); rank 1 on algo-2 has not come: it is '
    check "Python's own stack says where" wait_for "$PATIENCE" says 2 'rank 1\] .*in left_out'
    check "and where the others wait" wait_for "$PATIENCE" says 1 'rank 0\] .*in backward'
    stop_it
}

# A program's own signal handler prints to its log; a process without a handler gets no signal.
a_signal_of_choice_reaches_handlers_alone() {
    ring 3
    start_all -e RINGMASTER_LAUNCHER=direct -e RINGMASTER_EVIDENCE_SIGNAL=1 -- train -- python3 -c '
import faulthandler, os, signal, time
print("begun", flush=True)
if os.environ["RANK"] == "1":
    os.kill(os.getpid(), signal.SIGSTOP)
faulthandler.register(signal.SIGUSR2)
time.sleep(1000)'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] begun' || return
    done
    fault_begins
    check "its stack is in the log" wait_for "$PATIENCE" says 1 'rank 0.*in <module>' || return
    left="$(evidence 2)/algo-2-rank-1-signal.txt"
    check "the other one is left alone" wait_for "$PATIENCE" \
        grep -q 'no process of rank 1 has a handler' "$left"
    named '2 of 3 ranks are alike, .*; rank 1 on algo-2 is elsewhere: it is stopped by a signal'
    sleep 4
    check "a stack that was asked for is no progress" lacks "$(hosts log 1)" 'the job goes on'
    stop_it
}

# Hosts gather what the other ranks were doing before they end them.
a_crash_leaves_evidence_of_the_others() {
    ring 3
    start_all -e RINGMASTER_LAUNCHER=direct -e RINGMASTER_RESTARTS=1 -- train -- sh -c '
        echo "begun $RANK"; [ $RANK != 1 ] || { sleep 2; kill -s SEGV $$; }; exec sleep 1000'
    for host in $everyone; do
        check "host $host runs" wait_for "$PATIENCE" says "$host" '] begun' || return
    done
    all_end "$PATIENCE" 139 $everyone || return
    all_name 'rank 1: killed by signal 11' $everyone
    all_name 'core file: ' $everyone
    all_name 'others then: rank ' $everyone
    for host in 1 3; do
        for attempt in 1 2; do
            left=$(hosts opt "$host")/output/data/evidence-$attempt/algo-$host-rank-$((host - 1))
            check "host $host, attempt $attempt: threads of its rank" [ -s "$left-threads.txt" ]
            check "host $host, attempt $attempt: its last lines" grep -q "begun $((host - 1))" \
                "$left-lines.txt"
        done
    done
    failure_of 1 | sed 's/^/  /'
}

without_evidence_nothing_is_gathered() {
    ring 2
    start_all -e RINGMASTER_LAUNCHER=direct -e RINGMASTER_EVIDENCE=0 -- train -- \
        sh -c 'echo begun; exec sleep 16'
    all_end "$PATIENCE" 0 $everyone || return
    check "nothing is logged" lacks "$(hosts log 1)" 'evidence'
    check "nothing lies there" [ ! -e "$(evidence 1)" ]
}

# The first cases wait for most of their time, so they run at the same time.
if [ -z "${CASES:-}" ]; then
    CASES='nccl_says_that_all_are_equal nccl_says_that_all_move nccl_says_garbage nccl_says_half
        nccl_is_slow nccl_comes_to_no_end'
    run_cases_at_once
    CASES="a_rank_left_out_of_an_allreduce_is_named a_deadlocked_python_program_is_named
        a_stopped_rank_is_named a_hang_ends_where_the_user_says
        nccl_names_the_rank_that_has_not_come nccl_names_a_rank_by_the_number_of_the_job
        nccl_names_ranks_that_do_not_answer a_crash_leaves_evidence_of_the_others
        a_signal_of_choice_reaches_handlers_alone without_evidence_nothing_is_gathered"
    [ -z "${RINGMASTER_LONG:-}" ] || CASES="$CASES a_rank_left_out_of_ddp_over_gloo_is_named"
fi
run_cases
finish
