#!/bin/sh
# Faults while a shell script runs on three hosts (faults.sh).
exec env WORKLOAD=sh sh "$(dirname "$0")/faults.sh"
