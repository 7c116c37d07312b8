# Other scripts of this folder with another launcher than the build's: source it.
# shellcheck shell=sh disable=SC2034  # the counts are of the script that sources it

system=$(cd "$(dirname "$0")" && pwd)
scripts_failed=0 scripts_skipped=0

# copy_programs FOLDER BIN: FOLDER/bin with links to BIN's programs that are not there yet, so that what a
# launcher looks for beside itself is found, and the build's tests.
copy_programs() {
    mkdir -p "$1/bin"
    [ -e "$1/tests" ] || ln -s "$(dirname "$2")/tests" "$1/tests"
    for program in "$2"/*; do
        [ -e "$1/bin/${program##*/}" ] || ln -s "$program" "$1/bin/"
    done
}

# rerun COMMAND...: counts how it ends.
rerun() {
    echo "== $*"
    "$@"
    case $? in
    0) ;;
    77) scripts_skipped=$((scripts_skipped + 1)) ;;
    *) scripts_failed=$((scripts_failed + 1)) ;;
    esac
}

# rerun_script NAME: test_NAME.sh, of the many faults those that take no long time.
rerun_script() {
    case $1 in
    faults) rerun env -u RING -u CASES WORKLOAD=sh LAUNCHER=direct HOSTS=3 sh "$system/faults.sh" ;;
    *) rerun env -u RING -u CASES sh "$system/test_$1.sh" ;;
    esac
}

# rerun_end: the verdict as an exit status.
rerun_end() {
    echo "$scripts_failed scripts failed, $scripts_skipped were skipped or had cases skipped"
    [ "$scripts_failed" = 0 ] || exit 1
    [ "$scripts_skipped" = 0 ] || exit 77
}
