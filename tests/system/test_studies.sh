#!/bin/sh
# `ringmaster trials` and `ringmaster scaling`: a user's program on one or more ranks of three
# hosts, which crashes, prints NaN or hangs in some trials; a stop in the middle; and reports over
# 1, 2 and 3 hosts.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

# The program that is tried; --do says how it behaves.
program() {
    cat >"$share/program.sh" <<'END'
folder=$1 deed=good
shift
for word; do case $word in --do=*) deed=${word#*=} ;; esac; done
mkdir -p "$folder" && echo "$*" >"$folder/words-$RANK"
echo "$(hostname): rank $RANK of $WORLD_SIZE, rank 0 is at $MASTER_ADDR," \
    "OMPI ${OMPI_COMM_WORLD_SIZE:-none}, TF ${TF_CONFIG:-none}"
echo "step=1 top1=0.99 rate=1000"
case $deed in
crash) kill -s SEGV $$ ;;
hang) sleep 1000 ;;
slow) sleep 3 && : >"$folder/whole-$RANK" ;;
waits) until [ -e "$folder/../../../go-on" ]; do sleep 0.2; done ;;
two) [ "$WORLD_SIZE" != 2 ] || { echo "no luck with two"; exit 7; } ;;
esac
case $deed in nan) top1=nan ;; better) top1=0.7 ;; *) top1=0.5 ;; esac
echo "step=2 top1=$top1 rate=$((100 - 10 * WORLD_SIZE))"
END
}
plan() { printf '%s\n' "$1" >"$share/plan.json"; }
trials() {
    start_all -- ringmaster trials "$share/plan.json" --out "$share/out" "$@" -- \
        sh "$share/program.sh" '{dir}'
}
outcomes() {
    grep -o '"outcome": "[a-z]*"' "$share/out/trials.json" | sort | uniq -c | tr -s ' ' |
        tr '\n' ';'
}
# told: the first host's log without the prefix of its rank.
told() { hosts log 1 | sed 's/^\[algo-1 rank 0\] //'; }
prints() { echo "$1" | grep -qE -- "$2" || { echo "  no line like '$2'"; return 1; }; }

six_trials_of_which_three_fail() {
    ring 3
    program
    plan '{"grid": {"do": ["good", "crash", "nan", "hang", "better", "fine"]}, "metric": "top1",
           "stall": 3, "flags": {"fixed": 7}}'
    trials --then-best
    all_end "$PATIENCE" 0 $everyone || return
    log=$(told)
    echo "$log" | grep -vE ' (info|warning) ' | sed 's/^/  /'
    check "results" equal "$(outcomes)" ' 3 "outcome": "done"; 3 "outcome": "failed";'
    check "the summary" prints "$log" \
        '6 configurations, 3 trials done, 3 failed; the largest top1 is best'
    check "the best one" prints "$log" '^ *1 *4 *0.7 '
    check "the crash" prints "$log" 'failed: rank 0 ended with 139'
    check "the NaN" prints "$log" 'failed: top1 is missing or not finite'
    check "the one that hangs" prints "$log" 'failed: no output for 3 s'
    check "the recipe" equal "$(grep -v '^#' "$share/out/best.recipe" | tr '\n' ' ')" \
        '--fixed 7 --do better '
    check "all hosts had trials" equal \
        "$(cat "$share"/out/trial-*/*/rank-0.log | grep -o '^algo-[0-9]' | sort -u | wc -l)" 3
    check "a trial is a job of its own" equal \
        "$(grep -l 'rank 0 of 1, rank 0 is at 127.0.0.1, OMPI none, TF none' \
            "$share"/out/trial-*/rung-0-seed-0/rank-0.log | wc -l)" 6
    check "the best one runs everywhere" equal "$(cat "$share/out/best/words-2")" \
        '--fixed=7 --do=better'
    check "a page" grep -q '^<!doctype html>' "$share/out/trials.html"
    check "no failure is left behind" [ ! -e "$(hosts opt 1)/output/failure" ]
    first=$(cksum "$share/out/trials.json")
    trials
    all_end "$PATIENCE" 0 $everyone || return
    check "nothing runs again" lacks "$(hosts log 1)" 'trial 0: top1'
    check "nothing changes" equal "$(cksum "$share/out/trials.json")" "$first"
}

a_stop_loses_only_what_is_under_way() {
    ring 3
    program
    plan '{"grid": {"do": ["good", "fine", "better", "waits"]}, "metric": "top1"}'
    trials
    check "three results" wait_for "$PATIENCE" three_are_done || return
    check "the fourth runs" wait_for "$PATIENCE" \
        [ -e "$share/out/trial-3/rung-0-seed-0/words-0" ] || return
    hosts stop 1
    all_end "$PATIENCE" 143 $everyone || return
    check "results after the stop" equal "$(outcomes)" ' 3 "outcome": "done";'
    go_on
    trials
    all_end "$PATIENCE" 0 $everyone || return
    check "results in the end" equal "$(outcomes)" ' 4 "outcome": "done";'
    check "only the fourth ran" lacks "$(hosts log 1)" 'trial 0: top1'
}
three_are_done() { [ "$(outcomes 2>/dev/null)" = ' 3 "outcome": "done";' ]; }

a_trial_on_two_hosts() {
    ring 2
    program
    plan '{"grid": {"do": ["good", "slow"]}, "metric": "top1", "ranks": 2, "seeds": [3, 4],
           "halving": {"flag": "epochs", "rungs": [1, 5], "factor": 2}}'
    trials
    all_end "$PATIENCE" 0 $everyone || return
    log=$(cat "$share/out/trial-0/rung-0-seed-1/rank-1.log")
    check "the second rank: $log" prints "$log" 'algo-2: rank 1 of 2, rank 0 is at 10.77.0.1'
    check "its words" equal "$(cat "$share/out/trial-0/rung-1-seed-0/words-1")" \
        '--do=good --epochs=5 --seed=3'
    check "trials" prints "$(hosts log 1)" '2 configurations, 6 trials done, 0 failed'
}

what_is_wrong_with_a_plan_is_told() {
    ring 2
    program
    plan '{"grid": {"do": ["good"]}, "metric": "top1", "rank": 2}'
    trials
    all_end "$PATIENCE" 65 $everyone || return
    check "what is wrong" prints "$(hosts log 1)" '"rank"'
    plan '{"grid": {"do": ["good"]}, "metric": "top1", "ranks": 3}'
    trials
    all_end "$PATIENCE" 65 $everyone || return
    check "too many ranks" prints "$(hosts log 1)" '"ranks" is 3, but the job has 2'
    for words in 'trials' 'trials plan.json' 'trials plan.json -- ' 'scaling' \
        'scaling --metrik x -- true' 'scaling --variant x -- true'; do
        # shellcheck disable=SC2086  # words
        check "$words" equal "$("$RINGMASTER_BIN/ringmaster" $words >/dev/null 2>&1; echo $?)" 64
    done
}

a_report_over_three_hosts() {
    ring 3
    program
    cat >"$share/prices.json" <<'END'
{"currency": "EUR", "instances": [{"name": "one", "ranks": 1, "price_per_hour": 3.6}]}
END
    scaling --metric rate --per-rank --unit it/s --samples 9e4 --prices "$share/prices.json" \
        --project 8 -- sh "$share/program.sh" '{dir}'
    all_end "$PATIENCE" 0 $everyone || return
    log=$(told)
    echo "$log" | grep -v ' info ' | sed 's/^/  /'
    # The rate per rank is 90 alone, 80 on two ranks and 70 on three.
    check "one" prints "$log" '^ *1 *1 *90\.'
    check "two" prints "$log" '^ *2 *2 *160\..* 88\.9 %'
    check "three" prints "$log" '^ *3 *3 *210\..* 77\.8 %'
    check "more" prints "$log" '^ *8 *- .*projected'
    check "the whole work" prints "$log" '^ *1 *1 .*16 min'
    check "the ranks" equal "$(cat "$share/scaling/ranks-3/words-2")" ''
    check "a page" grep -q '^<!doctype html>' "$share/scaling/scaling.html"
    scaling --metric rate --variant plain= --variant named='TF_CONFIG=told --do=two' -- \
        sh "$share/program.sh" '{dir}'
    all_end "$PATIENCE" 0 $everyone || return
    log=$(told)
    echo "$log" | grep -v ' info ' | sed 's/^/  /'
    check "both in a row of three ranks" prints "$log" '^ *3 +70\.0 .* 70\.0 '
    check "the words of one, on the last host" equal \
        "$(cat "$share/scaling/named/ranks-3/words-2")" --do=two
    check "its variable" grep -q 'TF told$' "$share/scaling/named/ranks-3/rank-2.log"
    check "not of the other" grep -q 'TF none$' "$share/scaling/plain/ranks-3/rank-2.log"
    check "one of its sizes failed" grep -q '^failed,2,.*,"named"' "$share/scaling/scaling.csv"
    scaling --metric rate -- sh "$share/program.sh" '{dir}' --do=two
    all_end "$PATIENCE" 0 $everyone || return
    log=$(told)
    check "one of all ranks, after an earlier report" prints "$log" '^ *1 *1 *90\.'
    check "two fail" prints "$log" '^ *2 *2 *failed: rank 0 ended with 7: no luck with two'
    check "three of all ranks" prints "$log" '^ *3 *3 *70\.'
    scaling --metric other -- sh "$share/program.sh" '{dir}'
    all_end "$PATIENCE" 66 $everyone || return
    check "the metric that is missing" prints "$(hosts log 1)" 'it printed no other above 0'
}
scaling() { start_all -- ringmaster scaling --out "$share/scaling" "$@"; }

CASES=${CASES:-six_trials_of_which_three_fail a_stop_loses_only_what_is_under_way
    a_trial_on_two_hosts what_is_wrong_with_a_plan_is_told a_report_over_three_hosts}
run_cases
finish
