/* Table-driven parser for command-line flags.
 *
 * Every flag takes a value, as `--name value` or `--name=value`. '-' and '_' are the same in
 * names, because SageMaker's hyperparameters arrive with either. An unknown flag is an error,
 * which suggests the nearest known name.
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

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum flag_type { FLAG_TEXT, FLAG_INT, FLAG_REAL, FLAG_BOOL, FLAG_CHOICE };

struct flag {
    const char *name; /* without "--", with '-' */
    enum flag_type type;
    size_t offset;        /* of the field, in the struct to fill */
    const char *standard; /* the default as text; NULL: zero */
    double min;           /* bounds of numbers, both inclusive */
    double max;
    const char *const *choices; /* NULL-terminated */
    unsigned commands;          /* bits of the commands that accept this flag */
    unsigned tasks;             /* bits of the tasks that the flag applies to; 0: all. A flag may
                                 * have one row for each task; such rows differ only in their
                                 * help */
    unsigned recorded;          /* bits that mean something to the owner of the table alone */
    const char *value;          /* placeholder of the value in --help */
    const char *help;
};

/* Fills INTO with the defaults of all COUNT flags. */
int flags_defaults(const struct flag *flags, size_t count, void *into, struct error *err);
/* Sets the flag NAME, which must exist, of COMMAND (one bit). Used for layers between the defaults
 * and the command line, such as recipes. */
int flags_set(const struct flag *flags, size_t count, unsigned command, const char *name,
              const char *value, void *into, struct error *err);
/* Parses ARGV, the flags of COMMAND, over what INTO holds. The last value of a repeated flag wins.
 * Errors have EXIT_CODE_USAGE. */
int flags_take(const struct flag *flags, size_t count, unsigned command, int argc,
               char *const *argv, void *into, struct error *err);
/* flags_defaults, then flags_take. */
int flags_parse(const struct flag *flags, size_t count, unsigned command, int argc,
                char *const *argv, void *into, struct error *err);

/* Separates positional words from flags and their values; each list keeps its order. All words
 * after "--" are positional. FLAGS_ARGV and WORDS have room for ARGC pointers each. */
void flags_split(int argc, char *const *argv, char **flags_argv, int *ret_flags, char **words,
                 int *ret_words);

/* Returns the first row of COMMAND (bits; any of them) with this NAME, or NULL. */
const struct flag *flags_find(const struct flag *flags, size_t count, unsigned command,
                              const char *name);
bool flags_known(const struct flag *flags, size_t count, unsigned command, const char *name);
/* Returns the last value that ARGV gives for the flag NAME, or NULL. Ignores errors in ARGV. */
const char *flags_given(const struct flag *flags, size_t count, unsigned command, const char *name,
                        int argc, char *const *argv);
/* Returns true if ARGV has --NAME or --NAME=..., without a table of flags. A value that looks like
 * the flag counts as well. */
bool flags_has_word(int argc, char *const *argv, const char *name);
/* Returns the first flag in ARGV that applies to none of TASKS, or NULL. All flags in ARGV must be
 * known. */
const struct flag *flags_foreign(const struct flag *flags, size_t count, unsigned command,
                                 unsigned tasks, int argc, char *const *argv);

#endif
