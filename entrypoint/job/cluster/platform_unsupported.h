/* Detection of platforms that no reader supports: a container that its platform counts among
 * several must not silently run a job of its own, or N of them train N models and all succeed. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_UNSUPPORTED_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_UNSUPPORTED_H

#include "common/error.h"
#include "common/warnings.h"

/* For a host that neither RINGMASTER_HOSTS nor SageMaker's file describes. It is an error if
 * variables of ENVIRONMENT count several members, or should count and cannot be read, or give an
 * index without a count; the error names them and both remedies. If a single host may have the
 * index, too, and it is the first, it is a warning. */
int platform_unsupported_check(char *const *environment, struct warnings *warnings,
                               struct error *err);

#endif
