#!/bin/sh
# Tests Python programs that fail on one of three hosts in ways that hide the reason: which one the
# failure files of all hosts report. The launcher is the direct one, or another one (LAUNCHER).
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"
LAUNCHER=${LAUNCHER:-direct}
command -v python3 >/dev/null || skip "no python3"

# All programs begin with these eight lines.
begins='import atexit, json, os, sys, threading, time, traceback
rank = int(os.environ["RANK"])
bad = rank == 2
folder = sys.argv[1]
def others_wait(seconds=100):
    bad or time.sleep(seconds)
def fail():
    os.makedirs("/dev/null/no/such")
'
# run PROGRAM [-e NAME=VALUE]...: runs PROGRAM after those lines. In line 8, fail() calls a library
# that raises an exception.
run() {
    ring 3
    code_file train.py "$begins$1"
    shift
    start_all "$@" -- train -- python3 /opt/ml/code/train.py "$share"
}
raised="exception: NotADirectoryError: [Errno 20] Not a directory: '/dev/null/no' (/opt/ml/code/train.py, line 8)"

the_line_is_the_program_s_own() {
    run 'others_wait()
fail()'
    all_end "$PATIENCE" 1 $everyone || return
    all_name 'program: algo-3 rank 2: exited with 1' $everyone
    all_name "$raised" $everyone
}

# A stand-in for torchrun starts the program, and prints what torchrun 2.8 does when it fails.
the_summary_of_torchrun_does_not_hide_the_exception() {
    run 'others_wait()
if sys.argv[-1] == "worker":
    fail()
import subprocess
code = subprocess.call([sys.executable, *sys.argv, "worker"])
site = "/usr/local/lib/python3.11/site-packages/torch/distributed/"
sys.stderr.write(f"""Traceback (most recent call last):
  File "/usr/local/bin/torchrun", line 10, in <module>
    sys.exit(main())
  File "{site}elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
    return f(*args, **kwargs)
  File "{site}launcher/api.py", line 270, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
{"=" * 60}
train.py FAILED
{"-" * 60}
Failures:
  <NO_OTHER_FAILURES>
{"-" * 60}
Root Cause (first observed failure):
[0]:
  time      : 2026-08-01_11:36:44
  host      : algo-3
  rank      : 2 (local_rank: 0)
  exitcode  : 1 (pid: 11377)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
{"=" * 60}
""")
sys.exit(code)'
    all_end "$PATIENCE" 1 $everyone || return
    all_name "$raised" $everyone
}

# PyTorch's @record writes such an error file, and prints nothing itself.
the_line_in_an_error_file_is_the_program_s_own() {
    run 'others_wait()
try:
    fail()
except Exception as e:
    told = {"message": type(e).__name__ + ": " + str(e),
            "extraInfo": {"py_callstack": traceback.format_exc()}}
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as f:
        json.dump({"message": told}, f)
    sys.exit(1)'
    all_end "$PATIENCE" 1 $everyone || return
    all_name "$raised" $everyone
}

what_python_ignores_at_its_end_is_not_the_reason() {
    run 'others_wait()
atexit.register(lambda: [][7])
threading.Thread(target=lambda: {}[7]).start()
time.sleep(0.5)
fail()'
    all_end "$PATIENCE" 1 $everyone || return
    all_name "$raised" $everyone
}

a_silent_exit_is_told_as_that() {
    run 'others_wait()
sys.exit(3)'
    all_end "$PATIENCE" 3 $everyone || return
    all_name 'program: algo-3 rank 2: exited with 3' $everyone
    for host in $everyone; do
        check "no exception is reported" lacks "$(failure_of "$host")" 'exception' || return
    done
}

# The other ranks fail first, as they need the rank that has ended: rank 0 before rank 1.
a_rank_that_has_ended_too_early_is_told() {
    run 'if bad:
    open(folder + "/gone", "w")
    sys.exit(0)
while not os.path.exists(folder + "/gone"):
    time.sleep(0.1)
time.sleep(2 + 20 * rank)
raise ConnectionError("Connection reset by peer")'
    all_end "$PATIENCE" 1 $everyone || return
    all_name 'program: algo-1 rank 0: exited with 1' $everyone
    all_name 'ended with 0: rank 2 on algo-3, ' $everyone
    all_name \
        'exception: ConnectionError: Connection reset by peer (/opt/ml/code/train.py, line 15)' \
        $everyone
}

a_rank_that_hangs_after_its_exception_is_told() {
    run 'if bad:
    atexit.register(time.sleep, 1000)
    fail()
time.sleep(9)
raise TimeoutError("the others have not come")'
    all_end "$PATIENCE" 1 $everyone || return
    all_name "not ended after its exception: rank 2 on algo-3, ${raised#exception: }" $everyone
    all_name 'exception: TimeoutError: the others have not come' $everyone
}

# The main thread waits forever, and so do the other ranks: the warning names the exception of the
# thread that has failed.
a_thread_that_has_failed_is_told() {
    run 'print("begun", flush=True)
if bad:
    threading.Thread(target=fail).start()
threading.Event().wait()'
    check "the job stands still" wait_for "$PATIENCE" \
        says 1 "it has not ended after its exception, NotADirectoryError" || return
    check "it is rank 2" says 1 'rank 2 on algo-3'
    hosts stop 1
    all_end "$PATIENCE" 143 $everyone
}

standard_error_that_is_closed_is_told() {
    run 'others_wait()
os.close(2)
time.sleep(3)
fail()'
    all_end "$PATIENCE" 1 $everyone || return
    all_name 'stderr: the program closed or redirected it ' $everyone
}

# The rank itself is not killed, and reports only that one of its worker processes is gone.
a_worker_without_memory_is_told() {
    ring 3
    [ "$DRIVER" = ns ] && control_group memory 300M || {
        skip_case "no control group for memory here"
        return
    }
    code_file train.py "$begins"'others_wait()
from concurrent.futures import ProcessPoolExecutor
def eats():
    eaten = []
    while True:
        eaten.append(os.urandom(1 << 20))
ProcessPoolExecutor(1).submit(eats).result()'
    for host in $everyone; do
        bounds=:
        [ "$host" != 3 ] || bounds="echo \$\$ >$control/cgroup.procs"
        hosts start "$host" -p "$bounds" -- train -- python3 /opt/ml/code/train.py "$share"
    done
    all_end "$PATIENCE" 1 $everyone || return
    all_name \
        'program: algo-3 rank 2: exited with 1; out of memory: the kernel killed a process of this container' \
        $everyone
    all_name \
        'exception: concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated' \
        $everyone
    all_name '(/opt/ml/code/train.py, line 15)' $everyone
}

# In `python3 train.py 2>&1 | tee log`, the exit code is that of tee. Ringmaster cannot know better,
# and logs a warning.
a_code_that_a_pipe_hides_is_doubted() {
    ring 3
    code_file train.py "$begins"'bad and fail()'
    start_all -- train -- sh -c 'python3 /opt/ml/code/train.py "$0" 2>&1 | cat' "$share"
    all_end "$PATIENCE" 0 $everyone || return
    check "it is doubted" holds "$(hosts log 3)" \
        "warning algo-3: rank 2 ended with 0, and its last words are an exception: ${raised#exception: }"
    check "the others are not" \
        lacks "$(hosts log 1)$(hosts log 2)" 'its last words are an exception'
}

# The daemon has a session of its own, and keeps its rank's output open.
a_daemon_holds_nothing_up() {
    run 'others_wait()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
os.wait()
open(folder + "/failed-2", "w").write("%d %d" % (os.getpid(), time.time() * 1000))
fail()'
    fault_begins
    ended 1 "$raised" "$FAILURE_MS" $everyone
}

CASES=${CASES:-the_line_is_the_program_s_own the_summary_of_torchrun_does_not_hide_the_exception
    the_line_in_an_error_file_is_the_program_s_own
    what_python_ignores_at_its_end_is_not_the_reason a_silent_exit_is_told_as_that
    a_rank_that_has_ended_too_early_is_told a_rank_that_hangs_after_its_exception_is_told
    a_thread_that_has_failed_is_told standard_error_that_is_closed_is_told
    a_worker_without_memory_is_told a_code_that_a_pipe_hides_is_doubted a_daemon_holds_nothing_up}

# lib.sh calls this after each case.
case_ends() { nothing_is_left; }
run_cases
finish
