#!/bin/sh
# Resumed transfers: what a transfer program has downloaded or uploaded before it is killed, its
# next start does not transfer again.
set -eu
cd "$(dirname "$0")/../.."
bin=${RINGMASTER_BIN:-build/release/bin}
[ -x "$bin/ringmaster-transfer" ] || {
    echo "skipped: this build fetches nothing: no libcurl, libarchive or Expat"
    exit 77
}
folder=$(mktemp -d "${TMPDIR:-/tmp}/resume.XXXXXX")
trap 'rm -rf "$folder"' EXIT
for what in ${CASES:-download upload}; do
    mkdir "$folder/$what"
    python3 tests/system/resume.py "$what" "$bin" "$folder/$what"
    echo "ok $what"
done
