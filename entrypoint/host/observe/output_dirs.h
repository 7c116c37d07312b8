/* Output directories of a job. */
#ifndef ENTRYPOINT_HOST_OBSERVE_OUTPUT_DIRS_H
#define ENTRYPOINT_HOST_OBSERVE_OUTPUT_DIRS_H

#include "common/error.h"

/* Gives the existing ones below BASE to the user that programs run as (os/run_as.h), but not their
 * contents. */
int output_dirs_give(const char *base, struct error *err);

#endif
