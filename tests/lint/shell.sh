#!/bin/sh
# Checks that every script parses as POSIX sh, and that shellcheck, if installed, reports nothing.
#
#   sh tests/lint/shell.sh [FILE...]      default: all scripts
set -u
cd "$(dirname "$0")/../.." || exit 2
failed=0
scripts=$*
[ -n "$scripts" ] || scripts=$(git ls-files '*.sh' .ci/run 2>/dev/null)
[ -n "$scripts" ] || scripts=$(find . -name '*.sh' -not -path './build/*' -not -path './.cache/*')
for script in $scripts; do
    [ -e "$script" ] || continue
    sh -n "$script" || failed=1
done
if command -v shellcheck >/dev/null 2>&1; then
    # shellcheck disable=SC2086  # a list
    shellcheck -S warning $scripts || failed=1
fi
exit $failed
