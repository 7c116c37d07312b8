/* SM_* variables of this host.
 *
 * Programs get them as from SageMaker's training toolkit: strings as they are, everything else as
 * JSON with sorted keys, no blanks, ASCII. CURRENT_HOST comes with them. */
#ifndef ENTRYPOINT_JOB_SM_VARIABLES_H
#define ENTRYPOINT_JOB_SM_VARIABLES_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/job/job.h"

/* One string of an environment or a command line, with its NUL (Linux: MAX_ARG_STRLEN). */
enum { SM_VARIABLE_MAX = 128 * 1024 };

/* Sets them in RET, over what is there already. What is too long for the kernel is left out, and
 * the log says so. */
int sm_variables_add(const struct job *job, struct argv *ret, struct error *err);

#endif
