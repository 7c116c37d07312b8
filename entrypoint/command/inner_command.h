/* Commands that only processes of a job start: children of a supervisor, shims and agents.
 *
 * Each is described in the header of its function, which inner_command.c calls. All take the words
 * after the command's name and return its exit code, or -1 with an error. */
#ifndef ENTRYPOINT_COMMAND_INNER_COMMAND_H
#define ENTRYPOINT_COMMAND_INNER_COMMAND_H

#include "common/error.h"

int inner_command_study(const char *const *words, struct error *err);
int inner_command_examine(const char *const *words, struct error *err);
int inner_command_gather(const char *const *words, struct error *err);
int inner_command_ras(const char *const *words, struct error *err);
int inner_command_rank(const char *const *words, struct error *err);
int inner_command_agent(const char *const *words, struct error *err);

#endif
