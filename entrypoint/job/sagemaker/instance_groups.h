/* Selection of the platform's hosts that form this host's job. All of them, unless
 *   - sagemaker_mpi_enabled is false: then every host is a job of its own;
 *   - sagemaker_distribution_instance_groups names groups of a heterogeneous cluster: their hosts
 *     are one job, and every other host is one of its own; as in the toolkit, sagemaker_mpi_enabled
 *     alone makes a job of each group.
 *
 * The cluster in SM_* stays as the platform described it. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_INSTANCE_GROUPS_H
#define ENTRYPOINT_JOB_SAGEMAKER_INSTANCE_GROUPS_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/sagemaker/mpi_options.h"

/* Keeps those hosts in C. *RET_PLAIN: this one takes no part in a distributed job and runs one
 * process. A group that the platform does not know is an error. */
int instance_groups_choose(const struct mpi_options *mpi_options, struct cluster *c,
                           bool *ret_plain, struct error *err);

/* Returns the members of the group NAME as the platform lists them, borrowed; NULL if there is no
 * such group. */
const json_t *instance_groups_of_group(const struct cluster *c, const char *name);

/* Returns the names of the groups that form the distributed job, new, possibly empty; NULL when out
 * of memory. */
json_t *instance_groups_groups(const struct mpi_options *mpi_options, const struct cluster *c);

#endif
