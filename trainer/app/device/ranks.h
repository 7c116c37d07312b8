/* This process among the ranks of its job: who it is, and whether all of them hold the same. */
#ifndef TRAINER_APP_DEVICE_RANKS_H
#define TRAINER_APP_DEVICE_RANKS_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* One of several ranks if the launcher's environment says so, over MPI; else alone, and no MPI is
 * touched. A build without MPI refuses to be one of several. */
int ranks_open(struct comm **ret, struct error *err);

/* The library over which several ranks speak, with its version. For one thread. */
const char *ranks_library(void);

/* Whether nobody passes signals on to this process but whoever started it: it is the only rank, and
 * no launcher's. */
bool ranks_alone(const struct comm *comm);

/* Whether a person reads what goes to DESCRIPTOR: it is a terminal, and none that mpirun made for a
 * rank. */
bool ranks_terminal(int descriptor);

/* Whether VALUE is the same on every rank. If not, the error (with CODE) says what differs and
 * names the hosts and ranks whose value is not that of rank 0. */
int ranks_agree(struct comm *comm, const char *what, uint64_t value, enum exit_code code,
                struct error *err);

#endif
