#!/bin/sh
# Faults while an MPI program runs on three hosts (faults.sh).
exec env WORKLOAD=mpi sh "$(dirname "$0")/faults.sh"
