#!/bin/sh
# Tests `ringtrain scaling`: sizes one after another on this machine and under mpirun, a size that
# fails, wrong flags and prices, and a stop in the middle.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
job="--data synthetic --synthetic-images 640 --model resnet20 --batch-size 4 --threads 1 --epochs 2"
cd "$work"
echo '{"currency": "EUR", "instances": [{"name": "pair", "ranks": 2, "price_per_hour": 7.2}]}' \
    >prices.json

echo "two sizes on this machine"
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" scaling --ranks 1,2 --steps 6 --prices prices.json --project 64 --out report \
    -- $job
prints '^ *1 *1 *[0-9.]* .*100.0 %'
prints '^ *2 *1 *[0-9.]* '
# On a single core, two ranks show nothing about larger numbers of ranks.
if [ "$(nproc)" -gt 1 ]; then
    prints '^ *64 *- .*projected'
else
    prints 'Not projected: all sizes but the smallest have more threads than cores'
fi
prints 'measured among up to 2 ranks'
prints 'Its error is not known'
prints '^pair: 2 ranks, 7.20 EUR an hour'
[ "$(grep -c '^measured,' report/scaling.csv)" = 2 ] || fail "sizes in the CSV"
grep -q '^<!doctype html>' report/scaling.html || fail "no page"
# The whole training is 2 epochs of 640 pictures.
awk -F, '/^measured,/ {
    whole = 1280 / $4 + $8
    if (whole / $9 > 1.001 || whole / $9 < 0.999) exit 1
}' report/scaling.csv || fail "the time of the whole training"
[ -f report/ranks-2/rank-1.log ] || fail "no log of the second rank"

echo "two strategies in one report"
# shellcheck disable=SC2086
code 0 "$ringtrain" scaling --ranks 1,2 --strategies allreduce,sharded --steps 6 \
    --check-comm false --out both -- $job
prints '^ *2 .*( 100.0 %) .* %)$'
[ "$(grep -c '^measured,.*,"sharded"' both/scaling.csv)" = 2 ] ||
    fail "no sizes of the second strategy in the CSV"
grep -q '<h2>Sizes: sharded</h2>' both/scaling.html || fail "the page lacks the second strategy"
[ -f both/sharded/ranks-2/rank-1.log ] || fail "no log of it"
# shellcheck disable=SC2086
code 64 "$ringtrain" scaling --ranks 1,2 --strategies allreduce,ps-sync -- $job
says 'has a report of its own'

echo "a size that fails is a row"
# A folder stands where the second rank's log should be: that rank ends at once, and the first one
# notices.
mkdir -p failed/ranks-2/rank-1.log
# shellcheck disable=SC2086
code 0 "$ringtrain" scaling --ranks 1,2 --steps 6 --check-comm false --out failed -- $job
prints '^ *1 *1 *[0-9.]* '
prints '^ *2 *1  failed: '
grep -q '^failed,2,' failed/scaling.csv || fail "the CSV does not say it"

echo "no size at all"
# shellcheck disable=SC2086
code 66 "$ringtrain" scaling --ranks 1 --steps 6 --out none --  --data missing --model resnet20
says 'no size was measured'

echo "errors are printed before anything runs"
code 64 "$ringtrain" scaling --ranks 1,2
says 'the job is missing'
# shellcheck disable=SC2086
code 64 "$ringtrain" scaling -- $job
says 'ranks is missing'
# shellcheck disable=SC2086
code 64 "$ringtrain" scaling --ranks 2,1 -- $job
says 'ascending'
# shellcheck disable=SC2086
code 64 "$ringtrain" scaling --ranks 1 -- $job --steps 5
says 'for the length of a measurement'
code 64 "$ringtrain" scaling --ranks 1 -- --modle resnet20
says 'did you mean --model'
echo '{"instances": []}' >bad.json
# shellcheck disable=SC2086
code 65 "$ringtrain" scaling --ranks 1 --prices bad.json -- $job
says 'needs a list of 1 to'

echo "a stop leaves a report of what was measured"
# shellcheck disable=SC2086
"$ringtrain" scaling --ranks 1,2 --steps 6000 --out stopped -- $job >stopped.out 2>stopped.err &
pid=$!
heard stopped/ranks-1/run.jsonl '"kind":"train"' || fail "it does not begin"
kill -TERM $pid
got=0
wait $pid || got=$?
[ "$got" = 143 ] || { cat stopped.err; fail "a stop ends with $got"; }

if can_mpirun; then
    echo "the ranks of mpirun are the slots"
    # shellcheck disable=SC2086
    ranks 2 "$ringtrain" scaling --steps 6 --check-comm false --out launched -- $job \
        >launched.out 2>&1 || { cat launched.out; fail "under mpirun"; }
    [ "$(grep -c '^measured,' launched/scaling.csv)" = 2 ] || {
        cat launched.out
        fail "sizes under mpirun"
    }
fi
