# What tests of scripts start from; source it from the root of the tree. $work is a folder that goes at
# the end, and $failed what such a test exits with.
# shellcheck shell=sh disable=SC2034  # read by who sources it
work=$(mktemp -d) || exit 70
trap 'rm -rf "$work"' EXIT
failed=0

# check PROMISE COMMAND...
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
