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
#ifndef TRAINER_APP_OPTIONS_FLAG_H
#define TRAINER_APP_OPTIONS_FLAG_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
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
    unsigned tasks;             /* bits of the tasks that it is for; 0: all. One flag may have rows
                                   for several, which differ in their words alone */
    const char *value;          /* what --help calls the value */
    const char *help;
};

/* The defaults of all COUNT flags. */
int flags_defaults(const struct flag *flags, size_t count, void *into, struct error *err);
/* One flag of COMMAND (one bit), which must be there: a layer between the defaults and ARGV. */
int flags_set(const struct flag *flags, size_t count, unsigned command, const char *name,
              const char *value, void *into, struct error *err);
/* ARGV's flags, which belong to COMMAND. A flag given twice keeps the last value. Errors have
 * EXIT_CODE_USAGE. */
int flags_take(const struct flag *flags, size_t count, unsigned command, int argc,
               char *const *argv, void *into, struct error *err);
/* All three in one: the defaults, then ARGV's. */
int flags_parse(const struct flag *flags, size_t count, unsigned command, int argc,
                char *const *argv, void *into, struct error *err);

/* Words that are no flags, and no flags' values, apart from those that are, in their order; behind
 * "--" all words are none. FLAGS_ARGV and WORDS have room for ARGC each. */
void flags_split(int argc, char *const *argv, char **flags_argv, int *ret_flags, char **words,
                 int *ret_words);

bool flags_known(const struct flag *flags, size_t count, unsigned command, const char *name);
/* What ARGV gives for the flag NAME, the last time; NULL where it does not. What is wrong with ARGV
 * is passed over. */
const char *flags_given(const struct flag *flags, size_t count, unsigned command, const char *name,
                        int argc, char *const *argv);
/* The first flag in ARGV, all of whose flags are known, that is for none of TASKS; NULL for none.
 */
const struct flag *flags_foreign(const struct flag *flags, size_t count, unsigned command,
                                 unsigned tasks, int argc, char *const *argv);

/* Appends "NAME=VALUE" for the flag NAME, which must be there, from the struct that FROM points to;
 * numbers with as many digits as bring back every bit. */
int flags_print_value(struct buf *out, const struct flag *flags, size_t count, const char *name,
                      const void *from, struct error *err);

/* Appends the flags of COMMAND as a JSON object of texts: {"lr":"0.1","nesterov":"false"}. */
int flags_json(struct buf *out, const struct flag *flags, size_t count, unsigned command,
               const void *from, struct error *err);

/* One paragraph a flag of COMMAND that is for one of TASKS (0: whatever it is for): name, value,
 * help, bounds or choices, default. FROM is the filled struct whose values count as the defaults
 * then; NULL: the table's own. */
void flags_print(FILE *out, const struct flag *flags, size_t count, unsigned command,
                 unsigned tasks, const void *from);

/* The same as a table in Markdown, of the flags whose tasks are exactly TASKS; nothing where there
 * is none. */
void flags_page(FILE *out, const struct flag *flags, size_t count, unsigned command,
                unsigned tasks);

/* The same as items of a man page, of all flags of COMMAND. */
int flags_manual(struct buf *out, const struct flag *flags, size_t count, unsigned command,
                 struct error *err);

#endif
