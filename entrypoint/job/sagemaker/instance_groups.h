/* Which of the platform's hosts make up this host's job. All of them, unless
 *
 * - sagemaker_mpi_enabled is said to be false: then every host is a job of its own;
 * - sagemaker_distribution_instance_groups names groups of a heterogeneous cluster: their hosts are
 *   one job, and every other host is one of its own; as the toolkit has it, sagemaker_mpi_enabled
 *   alone makes a job of each group.
 *
 * What a host is told of its cluster in SM_* stays as the platform described it. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_INSTANCE_GROUPS_H
#define ENTRYPOINT_JOB_SAGEMAKER_INSTANCE_GROUPS_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/sagemaker/mpi_options.h"

/* Leaves those hosts in C. *RET_PLAIN: this one takes no part in a distributed job and runs one
 * process. A group that the platform does not know is an error. */
int instance_groups_choose(const struct mpi_options *mpi_options, struct cluster *c,
                           bool *ret_plain, struct error *err);

/* The members of the group called NAME as the platform lists them, NULL if there is no such group;
 * borrowed. */
const json_t *instance_groups_of_group(const struct cluster *c, const char *name);

/* The names of the groups that make up the distributed job, new, NULL when out of memory. Empty
 * where there is none. */
json_t *instance_groups_groups(const struct mpi_options *mpi_options, const struct cluster *c);

#endif
