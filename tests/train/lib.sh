# What the tests of the trainer share: source it. Each test gets a folder of its own, $work, which is
# removed at its end, and a small data set, $data.
# shellcheck shell=sh disable=SC2034

bin=${RINGMASTER_BIN:?names the folder of ringtrain}
tools=$bin/../tests
ringtrain=$bin/ringtrain
work=$(mktemp -d)
data=$work/shapes
trap finish EXIT
checks=0
skips=0

# One compute thread a rank: results then do not depend on the machine's cores.
common="--model resnet20 --batch-size 8 --threads 1 --data-threads 1 --log metrics"

skip() {
    echo "skipped: $*"
    exit 77
}

# For a part of a test: what it needs is not here. The end counts them.
skip_part() {
    echo "  skipped: $*"
    skips=$((skips + 1))
}

# The script's last line: 77 where nothing was checked for want of something, and a failure where nothing was at all.
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

# Open MPI unloads modules that have not freed all they had: such leaks have no name by which they
# could be suppressed. One process alone is checked for leaks.
without_leaks() {
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
    export ASAN_OPTIONS
}

# Whether ranks can be started; if not, why.
has_mpirun() {
    command -v mpirun >/dev/null || { why="no mpirun"; return 1; }
    "$ringtrain" version | grep -q 'MPI: Open MPI' || { why="this build has no MPI"; return 1; }
    without_leaks
}
need_mpirun() { has_mpirun || skip "$why"; }
# For the part of a test that asks pycocotools: $python has it, RINGMASTER_PYTHON, the system's or one that gets it from PyPI.
can_pycocotools() {
    python=${RINGMASTER_PYTHON:-python3}
    "$python" -c 'import pycocotools' 2>/dev/null && return
    top=$(cd "$(dirname "$0")/../.." && pwd)
    sh "$top/tests/venv.sh" pycocotools pycocotools==2.0.11 >"$work/venv" 2>&1 ||
        { cat "$work/venv"; skip_part "what pycocotools says: it is not here"; return 1; }
    python=$top/build/pycocotools/bin/python
}

# For the part of a test that starts ranks.
can_mpirun() { has_mpirun || { skip_part "what several ranks do: $why"; return 1; }; }

make_data() {
    "$ringtrain" prepare shapes "$data" --train "${1:-160}" --validation "${2:-40}" --classes 4 \
        --side 40 || fail "no data"
}

mpi="--allow-run-as-root --oversubscribe --bind-to none"
# Seconds that a rank which has failed waits for those that are still there before mpirun hears of it: that
# ends them within a second, however late they are.
patience=60

# Runs a command and leaves its exit code in $work/code.RANK: mpirun's own code is not to be relied
# on. When two ranks fail at once, mpirun 4.1.4 with PMIx 4.2.2 has died of SIGSEGV in
# PMIx_server_finalize after both had left, 4 times in some 880 runs, and has stayed there for ever once:
# then it hears no SIGTERM either.
# When one rank has failed, mpirun sends SIGTERM to the others: their shells outlive it, to tell. All hold a
# file together until they have told.
# shellcheck disable=SC2016  # for the rank's own shell
recorded='trap : TERM; work=$1; patience=$2; shift 2
    exec 8>>"$work/ranks" && flock -s 8 || exit 70
    "$@" 8>&- & child=$!
    wait $child; code=$?
    while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
    echo $code >"$work/code.$OMPI_COMM_WORLD_RANK"
    [ $code = 0 ] || flock -w "$patience" 8
    exit $code'

# launch N COMMAND...: as N ranks on this machine that leave their codes; ends with mpirun's.
# Ranks that hang are ended by an mpirun that hears SIGTERM, which it has a minute for. One that hears none
# stands still itself, and it is for the codes to tell whether its ranks have left. What mpirun keeps lies in a
# folder of its own: of two that share one, the first to end may take it away from under the other's start.
# shellcheck disable=SC2086  # a list
launch() {
    checks=$((checks + 1))
    rm -f "$work"/code.*
    in_all=$1
    shift
    timeout -k 60 400 mpirun $mpi --mca orte_tmpdir_base "$work" -np "$in_all" sh -c "$recorded" - "$work" "$patience" "$@" </dev/null
}

# For ranks that meet over TCP: nothing is left of a launcher that runs the test.
without_launcher() { unset OMPI_COMM_WORLD_SIZE TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT 2>/dev/null || :; }
port=$((20000 + $$ % 12000)) # below those that the kernel gives to connections
# rank_of RANK SIZE COMMAND...: as this rank of so many, all on this machine.
rank_of() {
    rank=$1 size=$2
    shift 2
    env RANK="$rank" WORLD_SIZE="$size" LOCAL_RANK="$rank" LOCAL_WORLD_SIZE="$size" \
        MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" timeout 300 "$@"
}
# together SIZE NAME COMMAND...: all ranks at once; the codes of all of them are 0.
together() {
    size=$1 name=$2
    shift 2
    checks=$((checks + 1))
    port=$((port + 1))
    rank=1
    pids=
    while [ "$rank" -lt "$size" ]; do
        rank_of "$rank" "$size" "$@" >"$work/$name.$rank" 2>&1 &
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
# left: "COUNT CODE" of the ranks that have left their code.
left() {
    cat "$work"/code.* 2>/dev/null | sort | uniq -c | tr -s ' ' | sed 's/^ //'
    rm -f "$work"/code.*
}

# ranks N COMMAND...: as N ranks on this machine, of which all have to end with 0.
ranks() {
    ended=0
    launch "$@" || ended=$?
    told=$(left)
    [ "$told" != "$1 0" ] || return 0
    echo "ranks and exit codes: ${told:-none}; mpirun's: $ended" >&2
    return 1
}

# codes WANTED RANKS: so many ranks have left their code, and all of them this one.
codes() {
    checks=$((checks + 1))
    told=$(left)
    [ "$told" = "$2 $1" ] || {
        cat "$work/out" "$work/err" >&2
        fail "ranks and exit codes: ${told:-none}; not $2 ranks with $1"
    }
}

# recorded_ranks N COMMAND...: as N ranks whose codes are for `codes` to judge, output in $work/out and $work/err.
recorded_ranks() {
    hung=0
    launch "$@" >"$work/out" 2>"$work/err" || hung=$?
    # One that heard SIGTERM may have stood still after its ranks, too.
    [ "$hung" != 124 ] || [ "$(cat "$work"/code.* 2>/dev/null | wc -l)" = "$1" ] || {
        cat "$work/out" "$work/err" >&2
        fail "ranks that hang: $*"
    }
    [ "$hung" != 137 ] || echo "mpirun stood still after its ranks, and heard no SIGTERM"
}

# code WANTED COMMAND...: runs it, its output in $work/out and $work/err; checks the exit code.
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

# says WORDS: the last program's words on stderr hold them.
says() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/err" || {
        cat "$work/err" >&2
        fail "not said: $1"
    }
}

# heard FILE PATTERN: within two minutes a line of the file, which a program may still write, matches.
heard() {
    timeout 120 sh -c 'tail -n +1 -F "$1" 2>/dev/null | grep -q -m 1 -e "$2"' - "$1" "$2"
}

same_weights() {
    checks=$((checks + 1))
    "$tools/weights_compare" "$@" || fail "other weights: $*"
}

# other_weights FILE FILE PREFIX [EXCEPT]...: they can be compared, and differ.
other_weights() {
    left=$1 right=$2
    shift 2
    code 1 "$tools/weights_compare" "$left" "$right" exact "$@"
}

# losses FILE: "STEP LOSS" lines of its training lines.
losses() {
    sed -n 's/^train step=\([0-9]*\) .*loss=\([^ ]*\) .*/\1 \2/p' "$1"
}

# train NAME FLAGS...: with $flags on $set_dir; what it said is $work/NAME.out.
train() {
    name=$1
    shift
    # shellcheck disable=SC2086,SC2154  # a list; the script's own
    code 0 "$ringtrain" train $flags --data "$set_dir" --model-dir "$work/$name.model" --checkpoint-dir "$work/$name" "$@"
    cp "$work/out" "$work/$name.out"
}

# evaluations FILE: the lines of its evaluations, without the step and the time of the checkpoint.
evaluations() {
    sed -n '/^eval /s/ step=.*//; /^eval /p' "$1"
}

# scores FILE: those of the last evaluation in it, without the epoch.
scores() {
    evaluations "$1" | tail -n 1 | sed 's/epoch=[^ ]* //'
}

# prints PATTERN: a line of the last program is like it.
prints() {
    checks=$((checks + 1))
    cat "$work/out" "$work/err" | grep -q -e "$1" || {
        cat "$work/out" "$work/err" >&2
        fail "not printed: $1"
    }
}

# same_model A B: two runs have left the same model.
same_model() {
    checks=$((checks + 1))
    cmp "$work/$1/model.safetensors" "$work/$2/model.safetensors" || fail "$2 is another model than $1"
}

# stop_server: for the trap of a script that leaves with what it would have, and leaves no server running; its process
# is $server, empty for none.
stop_server() {
    left=$?
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
    set +e
    (exit "$left")
    finish
}
