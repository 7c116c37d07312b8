/* Stacks of a rank's processes, by the tools of the image.
 *
 * The first one that is there is used: py-spy for Python, eu-stack, gdb; where none ends well, what
 * the kernel says of each thread. A tool gets 256 MiB of memory.
 *
 * A tool stops the process while it reads, py-spy excepted. One that is killed at its deadline may
 * leave the process stopped: it is continued then. */
#ifndef ENTRYPOINT_EVIDENCE_RANK_STACKS_H
#define ENTRYPOINT_EVIDENCE_RANK_STACKS_H

#include "common/argv.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Prints the stacks of all processes below SHIM to standard output, until DEADLINE (clock_now()).
 * Returns 0, or 1 if there are no processes. Blocks SIGCHLD: for a process of its own. */
int rank_stacks_print(pid_t shim, int64_t deadline);

/* Builds the command line of the tool for PID: NATIVE or for Python. PATH is where programs are
 * looked for. Returns false if the image has none. */
bool rank_stacks_tool(pid_t pid, bool native, const char *path, struct argv *ret);

#endif
