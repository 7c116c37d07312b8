/* Standard output of a command: one text, and the exit code that follows from it.
 *
 * A full disk or a closed pipe is noticed and logged, so that no script takes half a text for a
 * whole one. */
#ifndef ENTRYPOINT_COMMAND_COMMAND_OUTPUT_H
#define ENTRYPOINT_COMMAND_COMMAND_OUTPUT_H

#include "common/buf.h"

/* The most bytes that any command prints. */
enum { COMMAND_OUTPUT_MAX = 4 * 1024 * 1024 };

/* Flushes standard output. Returns the exit code: EXIT_CODE_OK, or that of a file that cannot be
 * written. */
int command_output_end(void);

/* Prints TEXT and ends the output. */
int command_output_print(const struct buf *text);

#endif
