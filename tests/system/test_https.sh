#!/bin/sh
# Tests sources by https over real TLS: which servers' certificates are accepted, and which are not.
set -eu
cd "$(dirname "$0")/../.."
bin=${RINGMASTER_BIN:-build/release/bin}
[ -x "$bin/ringmaster-transfer" ] ||
    { echo "skipped: this build fetches nothing: no libcurl, libarchive or Expat"; exit 77; }
command -v openssl >/dev/null || { echo "skipped: no openssl makes certificates here"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/https.XXXXXX")
trap 'rm -rf "$folder"' EXIT
python3 tests/system/https.py "$bin" "$folder"
