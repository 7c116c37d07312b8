#!/bin/sh
# Tests that the scripts of docker/ that people start print their usage, and that they start nothing
# for an unknown argument.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh

for script in engine base build; do
    check "$script.sh --help says how it is called" grep -q "sh docker/$script.sh" <<END
$(sh "docker/$script.sh" --help 2>&1)
END
done
for script in engine base; do
    sh "docker/$script.sh" --wrong >"$work/out" 2>&1
    check "$script.sh refuses a word that it does not know" [ $? = 64 ]
done
sh docker/release/notes.sh Unreleased >"$work/notes"
check "release/notes.sh prints a version's part of the changelog, without its heading" \
    sh -c "grep -q '^### ' '$work/notes' && ! grep -q '^## ' '$work/notes'"
sh docker/release/notes.sh 999.0.0 >"$work/notes" 2>&1
check "release/notes.sh fails where the changelog has no such version" \
    sh -c "[ $? = 1 ] && grep -q 'no section' '$work/notes'"
exit $failed
