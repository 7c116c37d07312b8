#!/bin/sh
# Faults while ringtrain trains on three hosts; on 8 and 16, too, where there is time (faults.sh).
exec env WORKLOAD=ringtrain HOSTS="3${RINGMASTER_LONG:+ 8 16}" sh "$(dirname "$0")/faults.sh"
