/* Environment for an Elastic Fabric Adapter: the provider for libfabric and, where the instance
 * type has it, RDMA.
 *
 * What SageMaker's toolkit also sets is for its own types and on request alone: RDMAV_FORK_SAFE can
 * break programs on today's kernels, and NCCL_PROTO=simple takes the faster protocols from all
 * traffic, within a host, too, while NCCL's plugin chooses what the adapter needs by itself.
 *
 * The adapter is recognized by the instance type, as in the toolkit, or by the device, as lists of
 * types grow old. A variable that the job sets itself is kept.
 *
 * Source: the EFA cheat sheet of AWS's distributed training examples, 2026. */
#ifndef ENTRYPOINT_JOB_MACHINE_EFA_H
#define ENTRYPOINT_JOB_MACHINE_EFA_H

#include "common/argv.h"
#include "common/error.h"
#include "common/warnings.h"

#include <stdbool.h>

/* Adds variables to ENVIRONMENT. INSTANCE_TYPE: "ml.p4d.24xlarge", "" if SageMaker does not give
 * it: then the firmware of a machine with an accessible adapter decides. AS_TOOLKIT: a type that
 * the toolkit knows gets its NCCL_PROTO and RDMAV_FORK_SAFE, too. ROOT: as below. */
int efa_add(const char *root, const char *instance_type, bool as_toolkit, struct argv *environment,
            struct error *err);

/* Warns if the container may not lock memory for such an adapter, or another RDMA device. ROOT is
 * put before /sys and /dev: "" except in tests. */
void efa_warn(const char *root, struct warnings *warnings);

#endif
