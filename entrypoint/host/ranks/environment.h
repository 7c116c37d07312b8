/* The environments of our children, built from this container's own.
 *
 *   daemons (mpirun, orted)   only what they need; the names in environment_daemon
 *   programs                  the container's own, less secrets of ours and all that speaks to
 *                             Open MPI (RINGMASTER_* and place_is_mpi()), plus this host's
 *                             SM_* and CURRENT_HOST; then, in the shim, what mpirun gave this rank
 *                             (place_is_mpi()) and RANK, LOCAL_RANK, WORLD_SIZE,
 *                             LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, RINGMASTER_ATTEMPT and
 *                             RINGMASTER_RUN_ID (common/attempt.h)
 *
 * SM_* follow the SageMaker training toolkit: strings as they are, the rest JSON with sorted keys,
 * no blanks, ASCII. Lists of hosts leave out those that are gone; SM_RESOURCE_CONFIG stays what the
 * platform wrote. */
#ifndef RANKS_ENVIRONMENT_H
#define RANKS_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"
#include "job/job.h"

/* PATH, HOME, TMPDIR, LANG, LD_LIBRARY_PATH and TZ of OWN, the first two with defaults (orted 4.1
 * fails without PATH, prted 5.0 crashes without HOME), and RINGMASTER_SOCKET=SOCKET. */
int environment_daemon(char *const *own, const char *socket, struct argv *ret, struct error *err);

/* The environment of programs on this host, all ranks alike. */
int environment_host(const struct job *job, char *const *own, struct argv *ret, struct error *err);

/* Adds to ENVIRONMENT (of environment_host) what is this rank's: LAUNCHED is the environment in
 * which mpirun started the shim. */
int environment_add_rank(struct argv *environment, char *const *launched, const char *master_addr,
                         unsigned master_port, struct error *err);

/* Adds what the daemons of one attempt pass on to its shims and agents. */
int environment_add_attempt(struct argv *environment, unsigned attempt, const char *run,
                            struct error *err);

#endif
