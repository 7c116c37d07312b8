/* What ringmaster's commands are called and do: one table for --help, the man page, and what shells
 * complete. Variables and exit codes come from tables of their own (job/settings.h, exit_code.h).
 */
#ifndef ENTRYPOINT_MANUAL_H
#define ENTRYPOINT_MANUAL_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>

struct manual_row {
    const char *command;
    const char *words; /* behind it, as people read them; "". A first one that is no capitals is
                          taken as it stands, in brackets if it may be left out */
    const char *text;
};

/* NULL-terminated by a row without command. */
const struct manual_row *manual_rows(void);

/* Whether a row of COMMAND has WORD as a first one that is taken as it stands; WORD may be NULL. */
bool manual_takes(const char *command, const char *word);

/* The name of a command, or an option of COMMAND's rows, that is nearest to WORD; NULL: none is. */
const char *manual_nearest(const char *word);
const char *manual_nearest_option(const char *command, const char *word);

/* Appends the help of one command; false where there is none of that name. */
bool manual_help_of(const char *command, struct buf *ret);

/* Append the help text but for exit codes, a man page in roff, and completions for bash (zsh takes
 * them by bashcompinit). */
int manual_help(struct buf *ret, struct error *err);
int manual_page(struct buf *ret, struct error *err);
int manual_completion(struct buf *ret, struct error *err);

#endif
