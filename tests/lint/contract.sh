#!/bin/sh
# Each of the 25 cases of SageMaker's contract has tests, and CONTRIBUTING.md names them: a row
# `| 7 | ... | file: name, name; file: name |` holds only what is there.
set -u
cd "$(dirname "$0")/../.." || exit 2
failed=0
say() {
    echo "$1"
    failed=1
}

row() { sed -n "s/^| $1 | .* | \(.*\) |\$/\1/p" CONTRIBUTING.md; }

for number in $(seq 1 25); do
    [ -n "$(row "$number")" ] || say "CONTRIBUTING.md has no tests for case $number"
    row "$number" | tr ';' '\n' | while IFS=: read -r file names; do
        file=$(git ls-files "tests/**/$(echo "$file" | tr -d ' ')")
        [ -n "$file" ] || { echo "case $number: no such file"; exit 1; }
        for name in $(echo "$names" | tr ',' ' '); do
            # shellcheck disable=SC2086  # a list
            grep -qE "\b$name\b" $file || { echo "case $number: $file has no test $name"; exit 1; }
        done
    done || failed=1
done

exit $failed
