/* Environment and arguments of a program, in sealed memory.
 *
 * The supervisor sends the descriptor to the shim over its socket.
 *
 * No disk and no other process's command line sees them, as both may hold secrets (hyperparameters
 * become arguments and variables).
 *
 * Format: the number of variables as decimal text, the variables, the arguments; each ends with a
 * NUL. */
#ifndef ENTRYPOINT_HOST_RANKS_LAUNCH_SPEC_H
#define ENTRYPOINT_HOST_RANKS_LAUNCH_SPEC_H

#include "common/argv.h"
#include "common/error.h"

#include <stddef.h>

/* More than execve() ever takes. */
enum { LAUNCH_SPEC_MAX = 48 * 1024 * 1024 };

/* Returns a descriptor owned by the caller, close-on-exec and read-only for everybody; -1 on
 * failure. More than the kernel can pass to a program is an error that names the largest variable.
 */
int launch_spec_make(const struct argv *environment, const struct argv *words, struct error *err);

/* Reads it from the beginning, whatever its offset; FD stays the caller's. Anything but a sealed
 * memfd is refused, as it might change meanwhile. There is at least one argument. */
int launch_spec_read(int fd, struct argv *environment, struct argv *words, struct error *err);

#endif
