#!/bin/sh
# Tests ranks that find each other over TCP, by torchrun's variables, without mpirun: they have the
# same weights in every run, and those of MPI where both add in the same order. Faults in the
# variables are reported.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data
without_launcher

# flags NAME: prints the flags of a short training.
flags() {
    echo "train $common --data $data --validation none --steps 12 --model-dir $work/$1.model
        --checkpoint-dir $work/$1.checkpoints --report-every 1"
}
last() {
    find "$work/$1.checkpoints" -name '*.safetensors' | sort | tail -n 1
}

echo "three ranks over TCP, twice: the same bits"
# shellcheck disable=SC2046  # flags
together 3 three "$ringtrain" $(flags three)
# shellcheck disable=SC2046
together 3 again "$ringtrain" $(flags again)
grep -q 'TCP' "$work/three.out" || fail "the log does not say what connects the ranks"
same_weights "$(last three)" "$(last again)" exact ""

echo "two ranks over TCP, and over MPI: the same bits"
# shellcheck disable=SC2046
together 2 two "$ringtrain" $(flags two)
if can_mpirun; then
    # shellcheck disable=SC2046
    ranks 2 "$ringtrain" $(flags mpi) >"$work/mpi.out" 2>&1 || {
        cat "$work/mpi.out"
        fail "over MPI"
    }
    same_weights "$(last two)" "$(last mpi)" exact ""
fi

echo "a model that two ranks score over TCP"
together 2 scored "$ringtrain" eval --model-dir "$work/two.model" --data "$data" --threads 1
"$ringtrain" eval --model-dir "$work/two.model" --data "$data" --threads 1 >"$work/alone.out" 2>&1
top1() { grep -o 'top1=[0-9.]*' "$1"; }
[ "$(top1 "$work/scored.out")" = "$(top1 "$work/alone.out")" ] || fail "another top1"

# refused CODE TEXT [-u NAME] VARIABLE=VALUE...: a rank with these variables ends with CODE and
# prints TEXT.
refused() {
    wanted=$1 words=$2
    shift 2
    code=0
    checks=$((checks + 1))
    env WORLD_SIZE=2 RANK=1 MASTER_ADDR="$host" MASTER_PORT="$port" env "$@" "$ringtrain" train \
        --data "$data" --steps 1 --model-dir "$work/refused" >"$work/refused.out" 2>&1 || code=$?
    [ "$code" = "$wanted" ] || {
        cat "$work/refused.out"
        fail "$words: code $code instead of $wanted"
    }
    grep -q -e "$words" "$work/refused.out" || {
        cat "$work/refused.out"
        fail "it does not say: $words"
    }
}
echo "variables that cannot be"
refused 65 'RANK is not set' -u RANK
refused 65 'RANK: .*2' RANK=2
refused 65 'MASTER_PORT' MASTER_PORT=70000
refused 65 'MASTER_ADDR is not set' -u MASTER_ADDR
refused 65 'WORLD_SIZE' WORLD_SIZE=two
refused 65 'over TCP there are 1 to 512 ranks' WORLD_SIZE=600
code=0
WORLD_SIZE=2 "$ringtrain" train --comm mpi --data "$data" --steps 1 >"$work/refused.out" 2>&1 ||
    code=$?
[ "$code" = 65 ] || fail "--comm mpi without mpirun: code $code"
grep -q 'no mpirun has started this rank' "$work/refused.out" || fail "--comm mpi does not say why"
