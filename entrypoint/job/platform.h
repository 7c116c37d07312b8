/* Source of a cluster's description.
 *
 * The first that applies:
 *   1. RINGMASTER_HOSTS, with RINGMASTER_HOST (cluster/platform_variables.h). It wins over
 * SageMaker's file: interface, instance type and groups of that are then not used either.
 *   2. BASE/input/config/resourceconfig.json (cluster/platform_sagemaker.h).
 *   3. the variables of another platform that lists hosts (cluster/platform_table.h);
 * RINGMASTER_PLATFORM chooses it, or none.
 *   4. none: this host alone, named by the kernel.
 * RINGMASTER_INTERFACE and RINGMASTER_JOB win over the platform's values in all of them. */
#ifndef ENTRYPOINT_JOB_PLATFORM_H
#define ENTRYPOINT_JOB_PLATFORM_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/settings.h"

/* JOB is the name that SageMaker gave the job, NULL if none: another platform's then, or
 * "ringmaster". */
int platform_read(const struct settings *settings, char *const *environment, const char *job,
                  struct cluster *ret, struct error *err);

#endif
