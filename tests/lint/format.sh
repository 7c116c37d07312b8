#!/bin/sh
# Checks that sources are formatted as .clang-format says. Other versions of clang-format wrap some
# lines differently, so the check is skipped without the version that the files were written with.
#
#   sh tests/lint/format.sh [FILE...]      default: all sources
set -u
cd "$(dirname "$0")/../.." || exit 2
version=$(clang-format --version 2>/dev/null | grep -oE '[0-9]+' | head -n 1)
if [ "${version:-0}" != 14 ]; then
    echo "skipped: no clang-format 14"
    exit 77
fi
sources=$*
[ -n "$sources" ] || sources=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' 2>/dev/null)
# Lists (.def), scripts and pages are not for clang-format.
# shellcheck disable=SC2086  # a list
sources=$(printf '%s\n' $sources | grep -E '\.(c|h|cu|cuh)$')
[ -n "$sources" ] || [ $# = 0 ] || exit 0
if [ -z "$sources" ]; then
    echo "skipped: not a git work tree"
    exit 77
fi
# shellcheck disable=SC2086  # a list
found=$(clang-format --dry-run -Werror $sources 2>&1 | sed -n 's/: error: .*//p' | head -n 40)
[ -z "$found" ] && exit 0
echo "$found"
echo "not formatted; clang-format -i mends them"
exit 1
