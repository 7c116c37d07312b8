# Common start of tests of scripts; source it from the root of the tree. $work is a folder that is
# removed at the end, and $failed is the exit code for the test to use.
# shellcheck shell=sh disable=SC2034  # used by the scripts that source it
work=$(mktemp -d) || exit 70
trap 'rm -rf "$work"' EXIT
failed=0

# check PROMISE COMMAND...: prints whether COMMAND succeeds; a failure sets $failed.
check() {
    promise=$1
    shift
    if "$@"; then
        echo "ok: $promise"
    else
        echo "FAILED: $promise"
        failed=1
    fi
}
