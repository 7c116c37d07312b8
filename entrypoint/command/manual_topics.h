/* Man pages of subjects: ringmaster-environment(7) and ringmaster-exit-codes(7).
 *
 * Made from the tables of settings, exit codes and failures, as the sections of ringmaster(1) on
 * them are (manual.h). All functions append to RET and fail as buffers do. */
#ifndef ENTRYPOINT_COMMAND_MANUAL_TOPICS_H
#define ENTRYPOINT_COMMAND_MANUAL_TOPICS_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>

/* The most bytes of a variable's meaning with its default. */
enum { MANUAL_MEANING_MOST = 1024 };

/* Appends HELP, the purpose of the setting NUMBER (settings_help), and its default in words. */
int manual_meaning(struct buf *ret, const char *help, size_t number, struct error *err);
/* Append all variables, and all exit codes, as items in roff. */
int manual_variables(struct buf *ret, struct error *err);
int manual_codes(struct buf *ret, struct error *err);

/* Appends the page of the subject NAME: "environment", "exit-codes". EXIT_CODE_USAGE for others. */
int manual_topic(const char *name, struct buf *ret, struct error *err);

#endif
