/* The environments of our children, built from this container's own.
 *
 *   daemons (mpirun, orted)   only what they need; the names in environment_daemon
 *   programs                  the container's own, less secrets of ours and all that configures
 *                             Open MPI (RINGMASTER_* and rank_environment_is_mpi()), plus this
 *                             host's SM_* and CURRENT_HOST; then, in the shim, what mpirun gave
 *                             this rank (rank_environment_is_mpi()) and RANK, LOCAL_RANK,
 *                             WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
 *                             RINGMASTER_ATTEMPT and RINGMASTER_RUN_ID (common/run_id.h)
 *
 * Frameworks find what torchrun would have set: GROUP_RANK and GROUP_WORLD_SIZE (this host's number
 * among the hosts of the attempt, and how many there are), NODE_RANK, ROLE_NAME, ROLE_RANK,
 * ROLE_WORLD_SIZE, TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_MAX_RESTARTS, and
 * where the container does not set it TORCH_NCCL_ASYNC_ERROR_HANDLING=1. As no agent keeps a store,
 * TORCHELASTIC_USE_AGENT_STORE is False: rank 0 keeps it. The shim adds TORCHELASTIC_ERROR_FILE
 * (outcome/error_file.h) and what JAX finds (jax_environment.h) and TensorFlow on request
 * (tf_environment.h).
 *
 * SM_* follow the SageMaker training toolkit: strings as they are, the rest JSON with sorted keys,
 * no blanks, ASCII. Lists of hosts leave out those that are gone; SM_RESOURCE_CONFIG stays what the
 * platform wrote. */
#ifndef ENTRYPOINT_HOST_RANKS_ENVIRONMENT_H
#define ENTRYPOINT_HOST_RANKS_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/evidence/flight_recorder.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"

/* PATH, HOME, TMPDIR, LANG, LD_LIBRARY_PATH and TZ of OWN, the first two with defaults (orted 4.1
 * fails without PATH, prted 5.0 crashes without HOME), and RINGMASTER_SOCKET=SOCKET. */
int environment_daemon(char *const *own, const char *socket, struct argv *ret, struct error *err);

/* The environment of programs on this host, all ranks alike. */
int environment_host(const struct job *job, char *const *own, struct argv *ret, struct error *err);

/* The names of Flight Recorder's files on this host (evidence/flight_recorder.h); none if evidence
 * is not wanted. */
void environment_recorder(const struct services *services, struct flight_recorder *ret);

/* Adds its variables to those of programs on this host. */
int environment_add_recorder(const struct services *services, struct argv *ret, struct error *err);

/* OMP_NUM_THREADS for each rank of a host that has CPUS: its share of them. 0 where ranks are left
 * alone: ENVIRONMENT (of environment_host) sets it, a rank has the host to itself, or the user's
 * options bind ranks to cores, which OpenMP counts by itself. */
int environment_threads(const struct job *job, const struct argv *environment, int cpus);
int environment_set_threads(struct argv *environment, int threads, struct error *err);

/* Adds to ENVIRONMENT (of environment_host) what is this rank's: LAUNCHED is the environment in
 * which mpirun started the shim. */
int environment_add_rank(struct argv *environment, char *const *launched, const char *master_addr,
                         unsigned master_port, struct error *err);

/* Adds what the daemons of one attempt pass on to its shims and agents. */
int environment_add_attempt(struct argv *environment, unsigned attempt, const char *run,
                            struct error *err);

#endif
