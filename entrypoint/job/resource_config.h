/* SageMaker's resourceconfig.json. Absent, null and unknown keys are fine, but `current_host` and
 * `hosts` must be there; names are checked strictly and every error names the file and the key.
 * `instance_groups` is kept as read (cluster.resource_config): the hosts of a job are `hosts`. */
#ifndef JOB_RESOURCE_CONFIG_H
#define JOB_RESOURCE_CONFIG_H

#include "common/error.h"
#include "job/cluster.h"

/* *RET must be zeroed. Returns 1 when PATH does not exist, with *RET unchanged. */
int resource_config_read(const char *path, struct cluster *ret, struct error *err);

/* The same from bytes; SOURCE names them in errors. */
int resource_config_parse(const char *bytes, size_t size, const char *source, struct cluster *ret,
                          struct error *err);

#endif
