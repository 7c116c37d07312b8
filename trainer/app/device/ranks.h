/* Membership of this process in the ranks of its job, and comparison of values across ranks. */
#ifndef TRAINER_APP_DEVICE_RANKS_H
#define TRAINER_APP_DEVICE_RANKS_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens the job's communicator over MPI if the launcher's environment says that there are several
 * ranks; else a single rank, without touching MPI. A build without MPI refuses several. */
int ranks_open(struct comm **ret, struct error *err);

/* Returns the library that connects several ranks, with its version. Not thread-safe. */
const char *ranks_library(void);

/* Returns true if only the user sends signals to this process: it is the only rank, and no
 * launcher started it. */
bool ranks_alone(const struct comm *comm);

/* Returns true if a person reads DESCRIPTOR: it is a terminal, but not a pseudo-terminal that
 * mpirun made for a rank. */
bool ranks_terminal(int descriptor);

/* Fails (with CODE) unless VALUE is the same on every rank; the error names WHAT differs and the
 * hosts and ranks with another value than rank 0. */
int ranks_agree(struct comm *comm, const char *what, uint64_t value, enum exit_code code,
                struct error *err);

#endif
