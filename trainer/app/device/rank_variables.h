/* Ranks of a job as launchers describe them in the environment: Open MPI's mpirun, or, with the
 * variables that torchrun made usual, any other. */
#ifndef TRAINER_APP_DEVICE_RANK_VARIABLES_H
#define TRAINER_APP_DEVICE_RANK_VARIABLES_H

#include "common/error.h"
#include "trainer/comm/tcp/comm_tcp.h"

/* Writes how many ranks mpirun has started, as OMPI_COMM_WORLD_SIZE says; 0 without mpirun, which
 * alone sets PMIX_RANK. A value that is no number has EXIT_CODE_CONFIG, as below. */
int rank_variables_mpi(int *ret, struct error *err);

/* Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT;
 * TORCHELASTIC_RUN_ID and TORCHELASTIC_RESTART_COUNT, where set, distinguish jobs and attempts.
 * Without WORLD_SIZE there is one rank, and the others are not looked at. The address is the
 * environment's. */
int rank_variables_tcp(struct comm_tcp_plan *ret, struct error *err);

/* Returns how many ranks of the job share this host, by either; 1 where nothing says so. */
int rank_variables_local_size(void);

#endif
