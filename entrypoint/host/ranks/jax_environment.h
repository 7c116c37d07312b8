/* Environment that describes a job to JAX (jax/_src/distributed.py of 0.10).
 *
 * jax.distributed.initialize() reads JAX_COORDINATOR_ADDRESS and JAX_LOCAL_DEVICE_IDS. It does not
 * read JAX_NUM_PROCESSES and JAX_PROCESS_ID, which Kubeflow sets as well: programs pass them on.
 * The platform's values are replaced, as a job has more processes than hosts where hosts have
 * several ranks; device ids that the job sets itself are kept. */
#ifndef ENTRYPOINT_HOST_RANKS_JAX_ENVIRONMENT_H
#define ENTRYPOINT_HOST_RANKS_JAX_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/mpi/rank_environment.h"

/* Adds variables to ENVIRONMENT. The coordinator is a port of rank 0's host, COORDINATOR (an IPv4
 * or IPv6 address). Of GPUS (those that CUDA_VISIBLE_DEVICES names, where it is set) each rank of a
 * host gets an equal share; JAX_LOCAL_DEVICE_IDS is not set if there are none, or they cannot be
 * shared equally. */
int jax_environment_add(const struct rank_place *place, const char *coordinator, unsigned port,
                        unsigned gpus, struct argv *environment, struct error *err);

#endif
