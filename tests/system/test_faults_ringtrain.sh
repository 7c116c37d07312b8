#!/bin/sh
# Faults while ringtrain trains on three hosts (faults.sh).
exec env WORKLOAD=ringtrain sh "$(dirname "$0")/faults.sh"
