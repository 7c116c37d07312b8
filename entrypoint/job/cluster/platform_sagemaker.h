/* Parser of SageMaker's cluster description, resourceconfig.json. Absent, null and unknown keys are
 * fine, but `current_host` and `hosts` must be there; names are checked strictly and every error
 * names the file and the key. `instance_groups` is kept as read (resource_config): the hosts of a
 * job are `hosts`. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_SAGEMAKER_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_SAGEMAKER_H

#include "common/error.h"
#include "entrypoint/job/cluster/platform_description.h"

/* *RET must be zeroed, and done with also after an error. Returns 1 when PATH does not exist, with
 * *RET unchanged. */
int platform_sagemaker_read(const char *path, struct platform_description *ret, struct error *err);

/* The same from bytes; SOURCE names them in errors. */
int platform_sagemaker_parse(const char *bytes, size_t size, const char *source,
                             struct platform_description *ret, struct error *err);

#endif
