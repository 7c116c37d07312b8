#!/bin/sh
# Tests `ringtrain trials`: trials that crash, hang or become NaN; a killed run that continues; a
# stop; halving; trials on slices of ranks; and the best trial, as a recipe and trained.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
cd "$work"
make_data 64 32 >/dev/null
flags='"data": "shapes", "model": "resnet20", "batch-size": 8, "threads": 1, "data-threads": 1,
    "report-every": 2'

# child TRIAL: prints the process ID of that trial, once it has logged a step. The whole path of its
# folder tells it from those of the same test in another build.
child() {
    heard "$1/run.jsonl" '"kind":"train"' || fail "$1 does not train"
    pgrep -n -f -- "--log-dir=$1( |\$)" || fail "no process of $1"
}
# outcomes FOLDER: prints how many trials have each outcome.
outcomes() {
    grep -o '"outcome": "[a-z]*"' "$1/trials.json" | sort | uniq -c | tr -s ' ' | tr '\n' ';'
}

echo "six trials: one crashes, one is NaN, one hangs"
cat >six.json <<END
{"flags": {$flags, "epochs": 4}, "metric": "top1",
 "grid": {"lr": [0.01, 0.02, 1000000, 0.04], "momentum": [0.9]}}
END
cat >long.json <<END
{"flags": {$flags, "epochs": 500}, "metric": "top1", "stall": 12, "grid": {"lr": [0.05, 0.06]}}
END
code 0 "$ringtrain" trials six.json --out six --slots 2
prints '^4 configurations, 3 trials done, 1 failed; the largest top1 is best'
prints '1000000 .*failed: rank 0 ended with 65'
[ "$(outcomes six)" = ' 3 "outcome": "done"; 1 "outcome": "failed";' ] ||
    fail "results: $(outcomes six)"
grep -q '^<!doctype html>' six/trials.html || fail "no page"
grep -q -e '^--data shapes$' six/best.recipe || fail "no recipe"
"$ringtrain" trials long.json --out "$work/long" --slots 2 >long.out 2>&1 &
hangs=$!
kill -SEGV "$(child "$work/long/trial-0/rung-0-seed-0")"
kill -STOP "$(child "$work/long/trial-1/rung-0-seed-0")"

echo "the same command has nothing left to do; another plan is refused"
code 0 "$ringtrain" trials six.json --out six --slots 2
prints '^4 configurations, 3 trials done, 1 failed'
! grep -q 'in [0-9.]* s' "$work/err" || fail "a trial ran again"
code 65 "$ringtrain" trials long.json --out six
says 'another plan'

echo "a killed run goes on with what is missing"
# The second trial is still running when the run is killed after the first one's result.
cat >four.json <<END
{"flags": {$flags}, "metric": "loss", "goal": "min", "grid": {"epochs": [4, 70, 71]}}
END
"$ringtrain" trials four.json --out "$work/four" >four.out 2>&1 &
pid=$!
heard four.out 'trial 0: loss' || fail "no first result"
left=$(child "$work/four/trial-1/rung-0-seed-0")
kill -KILL $pid
wait $pid || :
# Its trials die with it.
timeout 60 sh -c \
    'while kill -0 '"$left"' 2>/dev/null; do read -r _ </proc/'"$left"'/stat || break; done' ||
    fail "a trial outlived its run"
code 0 "$ringtrain" trials four.json --out four
! grep -q 'trial 0: loss' "$work/err" || fail "a trial with a result ran again"
prints '^3 configurations, 3 trials done, 0 failed; the smallest loss is best'

echo "the trial that hung has failed meanwhile, like the one that crashed"
got=0
wait $hangs || got=$?
[ "$got" = 66 ] || { cat long.out; fail "trials that all failed end with $got"; }
grep -q 'trial 0 failed: rank 0 ended with 139' long.out || { cat long.out; fail "the crash"; }
grep -q 'trial 1 failed: no output for 12 s' long.out || { cat long.out; fail "the hang"; }
checks=$((checks + 2))

echo "a stop loses no result"
"$ringtrain" trials long.json --out "$work/stopped" >stopped.out 2>&1 &
pid=$!
child "$work/stopped/trial-0/rung-0-seed-0" >/dev/null
kill -TERM $pid
got=0
wait $pid || got=$?
[ "$got" = 143 ] || { cat stopped.out; fail "a stop ends with $got"; }
[ ! -f stopped/trials.json ] || [ "$(outcomes stopped)" = "" ] ||
    fail "a stopped trial has a result"
checks=$((checks + 1))

echo "halving, seeds, slices of two ranks, the best one trained by its recipe and by --then-train"
cat >half.json <<END
{"flags": {$flags}, "metric": "top1", "seeds": [0, 1], "ranks": 2,
 "random": {"count": 2, "seed": 3,
            "space": {"lr": {"log": [0.001, 0.1]}, "optimizer": ["sgd", "adamw"]}},
 "halving": {"flag": "epochs", "rungs": [1, 2], "factor": 2}}
END
code 0 "$ringtrain" trials half.json --out half --then-train true
prints '^2 configurations, 6 trials done, 0 failed'
[ "$(find half -name run.jsonl | grep -c rung-1)" = 2 ] || fail "trials of the second rung"
grep -q 'ranks: 2' half/trial-0/rung-0-seed-1/rank-0.log || fail "a slice is not two ranks"
grep -q '"ranks":2' half/trial-0/rung-0-seed-0/run.jsonl || fail "ranks"
[ -f model/model.safetensors ] || fail "the best one is not trained"
grep -q -e '^--epochs 2$' half/best.recipe || fail "the budget is not in the recipe"
code 0 "$ringtrain" train --recipe half/best.recipe --steps 2 --log metrics --model-dir again \
    --checkpoint-dir again.steps
prints '^train step=2 '

echo "errors are printed before the first trial"
echo '{"flags": {"modle": "resnet20"}, "grid": {"lr": [1]}, "metric": "top1"}' >bad.json
code 65 "$ringtrain" trials bad.json --out bad
says 'did you mean --model'
echo '{"flags": {"model-dir": "x"}, "grid": {"lr": [1]}, "metric": "top1"}' >bad.json
code 65 "$ringtrain" trials bad.json --out bad
says 'each trial has its own'
echo '{"grid": {"lr": ["fast"]}, "metric": "top1"}' >bad.json
code 65 "$ringtrain" trials bad.json --out bad
says 'trial 0: --lr'
code 64 "$ringtrain" trials
says 'FILE is a plan'
code 65 "$ringtrain" trials missing.json --out bad
says 'missing.json'
[ ! -d bad ] || [ -z "$(find bad -name run.jsonl)" ] || fail "something ran"

if can_mpirun; then
    echo "the ranks of mpirun are the slots"
    ranks 2 "$ringtrain" trials six.json --out launched >launched.out 2>&1 || {
        cat launched.out
        fail "under mpirun"
    }
    grep -q '4 configurations, 2 at a time on 1 rank each' launched.out || {
        cat launched.out
        fail "slots"
    }
    [ "$(outcomes launched)" = ' 3 "outcome": "done"; 1 "outcome": "failed";' ] ||
        fail "results under mpirun"
    # The same trials have the same results.
    grep '"metric"' six/trials.json >a && grep '"metric"' launched/trials.json >b && cmp a b ||
        fail "other results"
fi
