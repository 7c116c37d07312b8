# Functions and variables that the tests of the trainer share: source it. Each test has a folder of
# its own, $work, which is removed at its end; $data is the small data set that make_data makes.
# shellcheck shell=sh disable=SC2034

bin=${RINGMASTER_BIN:?names the folder of ringtrain}
tools=$bin/../tests
ringtrain=$bin/ringtrain
work=$(mktemp -d)
data=$work/shapes
trap finish EXIT
checks=0
skips=0

# With one compute thread per rank results do not depend on the number of cores.
# Pictures of 16 px are enough for all but what looks at them, at a third of the time of 32.
common="--model resnet20 --image-size 16 --batch-size 8 --threads 1 --data-threads 1 --log metrics"

skip() {
    echo "skipped: $*"
    exit 77
}

# Skips a part of a test that needs something that is missing. finish prints how many were skipped.
skip_part() {
    echo "  skipped: $*"
    skips=$((skips + 1))
}

# Ends the script, as its EXIT trap. Without any check the exit code is 77 if parts were skipped,
# and 1 otherwise.
finish() {
    status=$?
    rm -rf "$work"
    [ "$status" = 0 ] || exit "$status"
    echo "$checks checks, $skips parts skipped"
    [ "$checks" = 0 ] || exit 0
    [ "$skips" = 0 ] || exit 77
    echo "FAILED: nothing was checked" >&2
    exit 1
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Disables leak checks for the rest of the script: Open MPI unloads modules that have not freed all
# their memory, and such leaks have no symbol by which they could be suppressed.
without_leaks() {
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
    export ASAN_OPTIONS
}

# Succeeds if ranks can be started; otherwise $why is the reason.
has_mpirun() {
    command -v mpirun >/dev/null || { why="no mpirun"; return 1; }
    "$ringtrain" version | grep -q 'MPI: Open MPI' || { why="this build has no MPI"; return 1; }
    without_leaks
}
need_mpirun() { has_mpirun || skip "$why"; }
# For a part of a test that needs pycocotools: $python is a Python that has it, RINGMASTER_PYTHON or
# the system's one, or else one in a virtual environment, with pycocotools from PyPI.
can_pycocotools() {
    python=${RINGMASTER_PYTHON:-python3}
    "$python" -c 'import pycocotools' 2>/dev/null && return
    top=$(cd "$(dirname "$0")/../.." && pwd)
    sh "$top/tests/venv.sh" pycocotools pycocotools==2.0.11 >"$work/venv" 2>&1 ||
        { cat "$work/venv"; skip_part "what pycocotools says: it is not here"; return 1; }
    python=$top/build/pycocotools/bin/python
}

# For a part of a test that starts ranks.
can_mpirun() { has_mpirun || { skip_part "what several ranks do: $why"; return 1; }; }

make_data() {
    "$ringtrain" prepare shapes "$data" --train "${1:-160}" --validation "${2:-40}" --classes 4 \
        --side 40 || fail "no data"
}

mpi="--allow-run-as-root --oversubscribe --bind-to none"
# Seconds that a failed rank waits for the ranks that are still running before it exits: mpirun then
# notices the failure and ends them within a second, however far behind they are.
patience=60

# Runs a command as a rank and writes its exit code to $work/code.RANK, because mpirun's own exit
# code is not reliable. When two ranks failed at once, mpirun 4.1.4 with PMIx 4.2.2 died of SIGSEGV
# in PMIx_server_finalize after both had exited, 4 times in some 880 runs, and once hung there and
# ignored SIGTERM.
# When one rank has failed, mpirun sends SIGTERM to the others: their shells survive it, to write
# the code. Each holds a shared lock on a file until then, and a failed rank waits for the others'.
# shellcheck disable=SC2016  # for the rank's own shell
recorded='trap : TERM; work=$1; patience=$2; shift 2
    exec 8>>"$work/ranks" && flock -s 8 || exit 70
    "$@" 8>&- & child=$!
    wait $child; code=$?
    while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
    echo $code >"$work/code.$OMPI_COMM_WORLD_RANK"
    [ $code = 0 ] || flock -w "$patience" 8
    exit $code'

# launch N COMMAND...: runs N ranks on this machine, which write their exit codes; returns mpirun's.
# After 400 s mpirun gets SIGTERM and has a minute to end ranks that hang. If it has to be killed
# (137), it hangs itself, and the ranks' codes show whether they have exited. mpirun's own files are
# in $work: of two that share a folder, the first to end may remove it while the other one starts.
# shellcheck disable=SC2086  # a list
launch() {
    checks=$((checks + 1))
    rm -f "$work"/code.*
    in_all=$1
    shift
    timeout -k 60 400 mpirun $mpi --mca orte_tmpdir_base "$work" -np "$in_all" \
        sh -c "$recorded" - "$work" "$patience" "$@" </dev/null
}

# For ranks that connect over TCP: unsets the variables of a launcher that runs the test.
without_launcher() {
    unset OMPI_COMM_WORLD_SIZE TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT 2>/dev/null || :
}
# Each test has an address of its own on the loopback device, as others run at the same time. Its
# ports are below the kernel's ephemeral ones.
host=127.$((64 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
port=$((20000 + $$ % 12000))
# rank_of RANK SIZE COMMAND...: runs the command as this rank of SIZE ranks on this machine. In the
# background, $! would be a shell in between, and a signal would not reach the rank: see begin_rank.
rank_of() {
    rank=$1 size=$2
    shift 2
    env RANK="$rank" WORLD_SIZE="$size" LOCAL_RANK="$rank" LOCAL_WORLD_SIZE="$size" \
        MASTER_ADDR="$host" MASTER_PORT="$port" timeout 300 "$@"
}
# begin_rank LOG RANK SIZE COMMAND...: begins it in the background; $! then takes its signals.
begin_rank() {
    log=$1 rank=$2 size=$3
    shift 3
    env RANK="$rank" WORLD_SIZE="$size" LOCAL_RANK="$rank" LOCAL_WORLD_SIZE="$size" \
        MASTER_ADDR="$host" MASTER_PORT="$port" timeout 300 "$@" >"$log" 2>&1 &
}
# together SIZE NAME COMMAND...: runs all ranks at once; each has to exit with 0.
together() {
    size=$1 name=$2
    shift 2
    checks=$((checks + 1))
    port=$((port + 1))
    rank=1
    pids=
    while [ "$rank" -lt "$size" ]; do
        begin_rank "$work/$name.$rank" "$rank" "$size" "$@"
        pids="$pids $!"
        rank=$((rank + 1))
    done
    bad=0
    rank_of 0 "$size" "$@" >"$work/$name.out" 2>&1 || bad=1
    for pid in $pids; do
        wait "$pid" || bad=1
    done
    [ "$bad" = 0 ] || { cat "$work/$name".*; fail "$name"; }
}
# left: prints "COUNT CODE" lines of the exit codes that ranks have written, and removes them.
left() {
    cat "$work"/code.* 2>/dev/null | sort | uniq -c | tr -s ' ' | sed 's/^ //'
    rm -f "$work"/code.*
}

# ranks N COMMAND...: runs N ranks on this machine; each has to exit with 0.
ranks() {
    ended=0
    launch "$@" || ended=$?
    told=$(left)
    [ "$told" != "$1 0" ] || return 0
    echo "ranks and exit codes: ${told:-none}; mpirun's: $ended" >&2
    return 1
}

# codes WANTED RANKS: exactly RANKS ranks have written their exit codes, each of which is WANTED.
codes() {
    checks=$((checks + 1))
    told=$(left)
    [ "$told" = "$2 $1" ] || {
        cat "$work/out" "$work/err" >&2
        fail "ranks and exit codes: ${told:-none}; not $2 ranks with $1"
    }
}

# recorded_ranks N COMMAND...: runs N ranks, with their output in $work/out and $work/err; `codes`
# checks their exit codes.
recorded_ranks() {
    hung=0
    launch "$@" >"$work/out" 2>"$work/err" || hung=$?
    # An mpirun that SIGTERM ended may have hung after all its ranks had exited, too.
    [ "$hung" != 124 ] || [ "$(cat "$work"/code.* 2>/dev/null | wc -l)" = "$1" ] || {
        cat "$work/out" "$work/err" >&2
        fail "ranks that hang: $*"
    }
    [ "$hung" != 137 ] || echo "mpirun stood still after its ranks, and heard no SIGTERM"
}

# code WANTED COMMAND...: runs the command, with its output in $work/out and $work/err, and checks
# its exit code.
code() {
    wanted=$1
    shift
    got=0
    checks=$((checks + 1))
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$wanted" ] || {
        cat "$work/out" "$work/err" >&2
        fail "exit code $got, not $wanted: $*"
    }
}

# says WORDS: the last program's stderr contains the words.
says() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/err" || {
        cat "$work/err" >&2
        fail "not said: $1"
    }
}

# heard FILE PATTERN: waits up to five minutes for a line of the file that matches.
heard() {
    timeout 300 sh -c 'tail -n +1 -F "$1" 2>/dev/null | grep -q -m 1 -e "$2"' - "$1" "$2"
}

same_weights() {
    checks=$((checks + 1))
    "$tools/weights_compare" "$@" || fail "other weights: $*"
}

# other_weights FILE FILE PREFIX [EXCEPT]...: the weights can be compared, and differ.
other_weights() {
    left=$1 right=$2
    shift 2
    code 1 "$tools/weights_compare" "$left" "$right" exact "$@"
}

# losses FILE: prints "STEP LOSS" for each of its training lines.
losses() {
    sed -n 's/^train step=\([0-9]*\) .*loss=\([^ ]*\) .*/\1 \2/p' "$1"
}

# train NAME FLAGS...: trains with $flags on $set_dir; the output is kept in $work/NAME.out.
train() {
    name=$1
    shift
    # shellcheck disable=SC2086,SC2154  # a list; the script's own
    code 0 "$ringtrain" train $flags --data "$set_dir" --model-dir "$work/$name.model" \
        --checkpoint-dir "$work/$name" "$@"
    cp "$work/out" "$work/$name.out"
}

# evaluations FILE: prints the lines of its evaluations, up to the step.
evaluations() {
    sed -n '/^eval /s/ step=.*//; /^eval /p' "$1"
}

# scores FILE: prints the last evaluation in it, without the epoch.
scores() {
    evaluations "$1" | tail -n 1 | sed 's/epoch=[^ ]* //'
}

# For a part of a test that kills programs at a system call.
can_kill_at() {
    strace -qq -o /dev/null true 2>/dev/null && return
    skip_part "kills at a system call: no strace here"
    return 1
}
# killed_at CALL N COMMAND...: the command is killed with SIGKILL as one of its threads begins the
# system call for the Nth time. It fails if the command ends before that.
killed_at() {
    call=$1 turn=$2
    shift 2
    code 137 strace -f -qq -o /dev/null -e trace="$call" \
        -e inject="$call:signal=KILL:when=$turn" "$@"
}

# prints PATTERN: a line of the last program's output matches.
prints() {
    checks=$((checks + 1))
    cat "$work/out" "$work/err" | grep -q -e "$1" || {
        cat "$work/out" "$work/err" >&2
        fail "not printed: $1"
    }
}

# same_model A B: two runs have published the same model.
same_model() {
    checks=$((checks + 1))
    cmp "$work/$1/model.safetensors" "$work/$2/model.safetensors" ||
        fail "$2 is another model than $1"
}

# stop_server: for the EXIT trap of a script that starts a server, with its process ID in $server,
# or nothing if none runs: kills the server and calls finish with the script's exit code.
stop_server() {
    left=$?
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
    set +e
    (exit "$left")
    finish
}
