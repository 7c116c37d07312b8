#!/bin/sh
# A job reports its progress to the status of a TrainJob; an HTTPS server stands in for Kubeflow
# Trainer.
set -eu
cd "$(dirname "$0")/../.."
bin=${RINGMASTER_BIN:-build/release/bin}
[ -x "$bin/ringmaster-transfer" ] || {
    echo "skipped: this build sends nothing: no libcurl, libarchive or Expat"
    exit 77
}
command -v openssl >/dev/null || { echo "skipped: no openssl makes certificates here"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/trainer-status.XXXXXX")
trap 'rm -rf "$folder"' EXIT
python3 tests/system/trainer_status.py "$bin" "$folder"
