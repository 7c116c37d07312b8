/* Environment for an Elastic Fabric Adapter, as SageMaker's toolkit sets it: the provider for
 * libfabric, and the protocol that NCCL can use.
 *
 * The adapter is recognized by the instance type, as in the toolkit, or by the device, as lists of
 * types grow old. A variable that the job sets itself is kept. */
#ifndef ENTRYPOINT_JOB_MACHINE_EFA_H
#define ENTRYPOINT_JOB_MACHINE_EFA_H

#include "common/argv.h"
#include "common/error.h"
#include "common/warnings.h"

#include <stdbool.h>

/* Adds variables to ENVIRONMENT. INSTANCE_TYPE: "ml.p4d.24xlarge", "" if SageMaker does not give
 * it: then the firmware of a machine with an accessible adapter decides. ROOT: as below. */
int efa_add(const char *root, const char *instance_type, struct argv *environment,
            struct error *err);

/* Warns about what a container with such an adapter, or another RDMA device, lacks for it: lockable
 * memory, and NCCL's plugin, without which NCCL silently uses TCP. ROOT is put before /sys and the
 * library directories: "" except in tests. */
void efa_warn(const char *root, char *const *environment, struct warnings *warnings);

#endif
