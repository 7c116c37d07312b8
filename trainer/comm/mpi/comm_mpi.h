/* Communicator over Open MPI. One thread (comm_thread.h) makes all MPI calls from init to finalize
 * (MPI_THREAD_FUNNELED on it) and runs the blocking ones while the caller computes. */
#ifndef TRAINER_COMM_MPI_COMM_MPI_H
#define TRAINER_COMM_MPI_COMM_MPI_H

#include "trainer/comm/comm.h"

/* Only for a process that a launcher started as a rank. */
int comm_mpi_open(struct comm **ret, struct error *err);

/* Returns "Open MPI v4.1.4, ..."; needs no init. */
const char *comm_mpi_library(void);

#endif
