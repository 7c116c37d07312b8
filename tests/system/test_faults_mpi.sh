#!/bin/sh
# Tests faults while an MPI program runs on three hosts; RINGMASTER_LONG=1 adds 8 and 16 hosts
# (faults.sh).
exec env WORKLOAD=mpi HOSTS="3${RINGMASTER_LONG:+ 8 16}" sh "$(dirname "$0")/faults.sh"
