/* Place of a rank, in the variables that mpirun sets for it. */
#ifndef ENTRYPOINT_MPI_RANK_ENVIRONMENT_H
#define ENTRYPOINT_MPI_RANK_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"

#include <stdbool.h>

struct rank_place {
    unsigned rank;
    unsigned size;
    unsigned local_rank;
    unsigned local_size;
    unsigned attempt;
};

/* Of a shim, from the environment LAUNCHED in which mpirun started it. What is missing is an error:
 * not started by mpirun. */
int rank_environment_read(char *const *launched, struct rank_place *ret, struct error *err);

/* Sets what mpirun would tell a shim about its place, where one starts it without mpirun. */
int rank_environment_set(const struct rank_place *place, struct argv *environment,
                         struct error *err);

/* Has MPI_Init of Open MPI fail in ranks that were started without mpirun. Otherwise each of them
 * would be a job of its own. Open MPI prints the name of the component that it was set to use,
 * which says what to do: of the first framework that it opens, before it starts a daemon, and of
 * one that no version does without. */
int rank_environment_refuse_mpi(struct argv *environment, struct error *err);

/* Returns true if VARIABLE (NAME=VALUE) configures Open MPI or comes from it. */
bool rank_environment_is_mpi(const char *variable);
/* Returns true if one of ENVIRONMENT does. */
bool rank_environment_has_mpi(const struct argv *environment);

#endif
