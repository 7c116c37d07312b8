#!/bin/sh
# Prints the section of CHANGELOG.md about a version, as the notes of its release.
#
#   sh docker/release/notes.sh VERSION
#
# The exit code is 1 if the section is missing or empty.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -eq 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64; }
awk -v heading="## [$1]" '
    /^## / { inside = index($0, heading) == 1; next }
    inside && (NF || printed) { print; printed = 1 }
    END { exit !printed }' "$top/CHANGELOG.md" ||
    { echo "notes.sh: CHANGELOG.md has no section \"## [$1]\" with any text" >&2; exit 1; }
