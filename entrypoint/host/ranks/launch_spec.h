/* What a shim starts its program with, environment and words, in memory that no disk and no other
 * process's command line ever sees: a sealed memfd, which travels to the shim as a descriptor over
 * its socket. Both may hold secrets (hyperparameters become words and variables).
 *
 * Form: the number of variables as decimal text, the variables, the words; each ends with a NUL. */
#ifndef ENTRYPOINT_HOST_RANKS_LAUNCH_SPEC_H
#define ENTRYPOINT_HOST_RANKS_LAUNCH_SPEC_H

#include "common/argv.h"
#include "common/error.h"

#include <stddef.h>

/* More than execve() ever takes. */
enum { LAUNCH_SPEC_MAX = 48 * 1024 * 1024 };

/* A descriptor of the caller's, close-on-exec, which nobody can write to; -1 on failure. What would
 * be more than the kernel passes on to a program is an error that names the largest variable. */
int launch_spec_make(const struct argv *environment, const struct argv *words, struct error *err);

/* Reads it from its beginning, wherever others have read to; FD stays the caller's. Anything but a
 * sealed one is refused: it might change while it is read. There is at least one word. */
int launch_spec_read(int fd, struct argv *environment, struct argv *words, struct error *err);

#endif
