/* Which rank this is: what mpirun tells the processes that it starts, in the variables of Open MPI.
 */
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

/* Sets what mpirun would tell the only rank of a job, which is started without one. */
int rank_environment_alone(struct argv *environment, struct error *err);

/* Returns true if VARIABLE (NAME=VALUE) configures Open MPI or comes from it. */
bool rank_environment_is_mpi(const char *variable);

#endif
