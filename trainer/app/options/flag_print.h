/* Printed forms of flags (flag.h): records, help, pages and the manual.
 *
 * Functions that append to a buffer return -1 if it is full, and set ERR. */
#ifndef TRAINER_APP_OPTIONS_FLAG_PRINT_H
#define TRAINER_APP_OPTIONS_FLAG_PRINT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/flag.h"

#include <stddef.h>
#include <stdio.h>

/* Appends "NAME=VALUE" for the flag NAME, which must exist, from the struct at FROM. Numbers have
 * enough digits to restore every bit. */
int flags_print_value(struct buf *out, const struct flag *flags, size_t count, const char *name,
                      const void *from, struct error *err);

/* Appends the flags of COMMAND as a JSON object of strings: {"lr":"0.1","nesterov":"false"}. */
int flags_json(struct buf *out, const struct flag *flags, size_t count, unsigned command,
               const void *from, struct error *err);

/* Appends the flags of COMMAND that have a value as a Markdown table. */
int flags_table(struct buf *out, const struct flag *flags, size_t count, unsigned command,
                const void *from, struct error *err);

/* Prints one paragraph for each flag of COMMAND that applies to one of TASKS (0: to any): name,
 * value, help, bounds or choices, default. Of several rows of one flag, the helps stand one after
 * the other in the paragraph of the first. FROM is a filled struct with the defaults to print;
 * NULL: the table's own. */
void flags_print(FILE *out, const struct flag *flags, size_t count, unsigned command,
                 unsigned tasks, const void *from);

/* Prints the same as a Markdown table, of the flags for exactly TASKS. Prints nothing
 * if there are none. */
void flags_page(FILE *out, const struct flag *flags, size_t count, unsigned command,
                unsigned tasks);

/* Appends the same as list items of a man page, for all flags of COMMAND. */
int flags_manual(struct buf *out, const struct flag *flags, size_t count, unsigned command,
                 struct error *err);

#endif
