/* What the variables of platforms say of a cluster that no reader has taken: they are seen all the
 * same, as a container that its platform counts among several must not quietly run a job of
 * its own, or N of them train N models and all succeed. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_UNSUPPORTED_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_UNSUPPORTED_H

#include "common/error.h"
#include "common/warnings.h"

/* For a host that neither RINGMASTER_HOSTS nor SageMaker's file describes. Variables of ENVIRONMENT
 * that count several members, or that should count and cannot be read, are an error that names them
 * and both ways out, and so is an index without a count; where one that is alone may have it, too,
 * and it says that this is the first, a warning. */
int platform_unsupported_check(char *const *environment, struct warnings *warnings,
                               struct error *err);

#endif
