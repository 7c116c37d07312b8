/* Command-line flags from a table. Every flag takes a value: `--name value` or `--name=value`; '-'
 * and '_' are the same in names, because hyperparameters arrive with either. An unknown flag is an
 * error that offers the nearest known name.
 *
 *     static const struct flag FLAGS[] = {
 *         {.name = "epochs", .type = FLAG_INT, .offset = offsetof(struct options, epochs),
 *          .standard = "90", .min = 1, .max = 1e6, .value = "N", .help = "passes over the data"},
 *     };
 *
 * The field at OFFSET is an int64_t, double, bool, const char * (borrowed from argv; NULL by
 * default) or, for a choice, an int that holds the index in CHOICES. */
#ifndef OPTIONS_FLAG_H
#define OPTIONS_FLAG_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>
#include <stdio.h>

enum flag_type { FLAG_TEXT, FLAG_INT, FLAG_REAL, FLAG_BOOL, FLAG_CHOICE };

struct flag {
    const char *name; /* without "--", with '-' */
    enum flag_type type;
    size_t offset;        /* of the field in the struct that is filled */
    const char *standard; /* the default as text; NULL: zero */
    double min;           /* bounds of numbers, both inclusive */
    double max;
    const char *const *choices; /* NULL-terminated */
    unsigned commands;          /* bits of the commands that know this flag */
    const char *value;          /* what --help calls the value */
    const char *help;
};

/* Fills INTO: first the defaults of all COUNT flags, then ARGV's flags that belong to COMMAND (one
 * bit). A flag given twice keeps the last value. Errors have EXIT_CODE_USAGE. */
int flags_parse(const struct flag *flags, size_t count, unsigned command, int argc,
                char *const *argv, void *into, struct error *err);

/* Appends "NAME=VALUE" for the flag NAME, which must be there, from the struct that FROM points to;
 * numbers with as many digits as bring back every bit. */
int flags_print_value(struct buf *out, const struct flag *flags, size_t count, const char *name,
                      const void *from, struct error *err);

/* One paragraph a flag of COMMAND: name, value, help, bounds or choices, default. */
void flags_print(FILE *out, const struct flag *flags, size_t count, unsigned command);

#endif
