# Runs other scripts of this folder with another launcher than the build's. Sourced.
# shellcheck shell=sh disable=SC2034  # the counts are of the script that sources it

system=$(cd "$(dirname "$0")" && pwd)
scripts_failed=0 scripts_skipped=0

# copy_programs FOLDER BIN: adds links to those of BIN's programs that FOLDER/bin lacks, so that a
# launcher finds the programs that it looks for beside itself; also links the build's tests.
copy_programs() {
    mkdir -p "$1/bin"
    [ -e "$1/tests" ] || ln -s "$(dirname "$2")/tests" "$1/tests"
    for program in "$2"/*; do
        [ -e "$1/bin/${program##*/}" ] || ln -s "$program" "$1/bin/"
    done
}

# rerun COMMAND...: runs it and counts whether it failed or was skipped.
rerun() {
    echo "== $*"
    "$@"
    case $? in
    0) ;;
    77) scripts_skipped=$((scripts_skipped + 1)) ;;
    *) scripts_failed=$((scripts_failed + 1)) ;;
    esac
}

# rerun_script NAME: runs test_NAME.sh; of the many fault tests, only those that are short.
rerun_script() {
    case $1 in
    faults) rerun env -u RING -u CASES WORKLOAD=sh LAUNCHER=direct HOSTS=3 sh "$system/faults.sh" ;;
    *) rerun env -u RING -u CASES sh "$system/test_$1.sh" ;;
    esac
}

# rerun_end: prints the counts and exits with 1 or 77 if a script failed or was skipped.
rerun_end() {
    echo "$scripts_failed scripts failed, $scripts_skipped were skipped or had cases skipped"
    [ "$scripts_failed" = 0 ] || exit 1
    [ "$scripts_skipped" = 0 ] || exit 77
}
