/* Membership of this process in the ranks of its job. Values are also compared across ranks
 * here. */
#ifndef TRAINER_APP_DEVICE_RANKS_H
#define TRAINER_APP_DEVICE_RANKS_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens the job's communicator: over MPI where mpirun has started several ranks, unless TCP is
 * WANTED; over TCP where another launcher has (rank_variables.h); else a single rank, without
 * touching either. */
int ranks_open(enum option_comm wanted, struct comm **ret, struct error *err);

/* Closes COMM after a command that returned RESULT, -1 with ERR for a failure. After a failure of
 * this rank it aborts, which ends the other ranks. A stop (EXIT_CODE_STOPPED) is none: all ranks
 * end so together. */
void ranks_close(struct comm *comm, int result, const struct error *err);

/* Returns what connects several ranks, with its version; "" for a single one. Not thread-safe. */
const char *ranks_library(const struct comm *comm);

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
