/* Table of ringmaster's commands for --help, the man page and shell completion. Variables and exit
 * codes have tables of their own (job/settings.h, exit_code.h). */
#ifndef ENTRYPOINT_COMMAND_MANUAL_H
#define ENTRYPOINT_COMMAND_MANUAL_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>

struct manual_row {
    const char *command;
    const char *words; /* its arguments as shown in help; "". A first one not in capitals is
                          literal, in brackets if optional */
    const char *text;
    const char *example; /* a command line; NULL: another row of the command has one */
};

/* NULL-terminated by a row without command. */
const struct manual_row *manual_rows(void);

/* Returns true if a row of COMMAND has WORD as a literal first argument; WORD may be NULL. */
bool manual_takes(const char *command, const char *word);

/* Returns the command, or the option in COMMAND's rows, that is nearest to WORD; NULL: none. */
const char *manual_nearest(const char *word);
const char *manual_nearest_option(const char *command, const char *word);

/* Refuses what follows the last argument of a command: an error (EXIT_CODE_USAGE) if WORDS has a
 * word. */
int manual_refuse_words(const char *const *words, struct error *err);
/* Refuses WORD, which looks like an option of COMMAND but is not; it may be NULL. */
int manual_refuse_option(const char *command, const char *word, struct error *err);
/* Refuses WORD, which is no command, and names the nearest one. Always returns -1. */
int manual_refuse_command(const char *word, struct error *err);

/* Appends the help of one command; returns false if there is none of that name. */
bool manual_help_of(const char *command, struct buf *ret);

/* Append the list of commands, the help text without exit codes, a man page in roff, and
 * completions for bash (zsh uses them through bashcompinit). */
int manual_commands(struct buf *ret, struct error *err);
int manual_help(struct buf *ret, struct error *err);
int manual_page(struct buf *ret, struct error *err);
int manual_completion(struct buf *ret, struct error *err);

#endif
