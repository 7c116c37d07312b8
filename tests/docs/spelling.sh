#!/bin/sh
# Checks the pages for common misspellings with Debian's codespell.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v codespell >/dev/null || { echo "skipped: no codespell"; exit 77; }
exec codespell --ignore-words tests/docs/spelling.txt README.md ARCHITECTURE.md CONTRIBUTING.md \
    SECURITY.md CHANGELOG.md docs examples .github
