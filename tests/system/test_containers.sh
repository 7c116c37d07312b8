#!/bin/sh
# Runs a selection of the system tests on unprivileged containers (lib.sh), some of it once more as
# root, as SageMaker starts containers; and the job of docker/compose.yml. FULL=1 runs whole test
# scripts, and more of them; REPEAT has the same meaning as in lib.sh.
# shellcheck disable=SC2154  # engine.sh's variables
set -u
# shellcheck source=/dev/null
. "$(dirname "$0")/engine.sh"
left_out=
# A step that skips anything makes this script end with 77, unless another one has failed.
step() {
    echo "-- $*"
    code=0
    "$@" || code=$?
    case $code in
    0) ;;
    77) echo "-- skipped, all or in part: $*"; left_out="$left_out; $*" ;;
    *) echo "-- FAILED with $code: $*"; failed=1 ;;
    esac
}

# compose EDIT CODE: runs a smaller job of docker/compose.yml, changed by sed's EDIT; compose has to
# end with the job's exit code, CODE.
compose() {
    composer=$(composer) || { echo "skipped: no compose"; return 77; }
    file=$(mktemp --suffix=.yml "$top/build/compose.XXXXXX")
    sed "s/--epochs 4/--steps 3/; $1" "$top/docker/compose.yml" >"$file"
    grep -q -e '--steps 3' "$file" || { echo "FAILED: compose.yml trains otherwise"; return 1; }
    # shellcheck disable=SC2086  # two words
    timeout 300 $composer -p "ringmaster-test" -f "$file" up --abort-on-container-exit \
        >"$file.log" 2>&1
    got=$?
    # shellcheck disable=SC2086  # two words
    $composer -p "ringmaster-test" -f "$file" down >/dev/null 2>&1
    [ "$got" -eq "$2" ] || {
        echo "FAILED: compose ended with $got, not $2"
        tail -n 30 "$file.log"
    }
    rm -f "$file" "$file.log"
    [ "$got" -eq "$2" ]
}
mkdir -p "$top/build"
step compose '' 0
step compose 's/--model resnet20/--model no-such-network/' 64

export DRIVER=docker
if [ -n "${FULL:-}" ]; then
    step sh "$system/test_job.sh"
    step env UNPRIVILEGED= sh "$system/test_job.sh"
    step sh "$system/test_conformance.sh"
    step sh "$system/test_rights.sh"
    step sh "$system/test_twins.sh"
    step sh "$system/test_bad_input.sh"
    step sh "$system/test_sagemaker.sh"
    step sh "$system/test_relaunch.sh"
    for workload in sh mpi ringtrain; do
        step env WORKLOAD="$workload" sh "$system/faults.sh"
    done
    step env REPEAT=1 sh "$system/test_foreign.sh"
else
    step env CASES='every_rank_knows_its_place ranks_meet_by_mpi ringtrain_trains' \
        sh "$system/test_job.sh"
    step env UNPRIVILEGED= CASES='ranks_meet_by_mpi ringtrain_trains' sh "$system/test_job.sh"
    step env CASES='hosts_have_no_rights a_lost_host_is_told' sh "$system/test_rights.sh"
    step env CASES='one_host_has_another_key a_port_is_busy' sh "$system/test_bad_input.sh"
    step env WORKLOAD=mpi CASES='a_rank_exits_with_42 a_worker_is_killed the_master_is_killed
        the_master_is_stopped a_worker_is_frozen' sh "$system/faults.sh"
fi
[ "$failed" -eq 0 ] || exit 1
[ -z "$left_out" ] || { echo "skipped: ${left_out#; }"; exit 77; }
