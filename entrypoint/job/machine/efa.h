/* What libraries of communication are told of an Elastic Fabric Adapter, as SageMaker's toolkit
 * tells them: libfabric takes its provider, NCCL the protocol that it can carry. Known by the
 * instance's type, as the toolkit knows it, or by the device, as lists of types grow old. A
 * variable that the job sets itself stays as it is. */
#ifndef ENTRYPOINT_JOB_MACHINE_EFA_H
#define ENTRYPOINT_JOB_MACHINE_EFA_H

#include "common/argv.h"
#include "common/error.h"
#include "common/warnings.h"

#include <stdbool.h>

/* Adds variables to ENVIRONMENT. INSTANCE_TYPE: "ml.p4d.24xlarge", "" if SageMaker does not say it:
 * then the firmware of a machine whose adapter is within reach may. ROOT: as below. */
int efa_add(const char *root, const char *instance_type, struct argv *environment,
            struct error *err);

/* Says what a container with such an adapter, or another device of its kind, lacks for it: memory
 * that may be locked, NCCL's plugin, without which NCCL takes TCP in silence. ROOT is put in front
 * of /sys and of libraries' folders: "" but in tests. */
void efa_warn(const char *root, char *const *environment, struct warnings *warnings);

#endif
