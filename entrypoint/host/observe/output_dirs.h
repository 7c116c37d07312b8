/* The folders that a job leaves its work in. */
#ifndef ENTRYPOINT_HOST_OBSERVE_OUTPUT_DIRS_H
#define ENTRYPOINT_HOST_OBSERVE_OUTPUT_DIRS_H

#include "common/error.h"

/* Gives those below BASE that are there to the user that programs run as (os/run_as.h), but not
 * what lies in them. */
int output_dirs_give(const char *base, struct error *err);

#endif
