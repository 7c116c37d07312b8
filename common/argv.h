/* Growable, NULL-terminated list of strings: a command line or an environment.
 *
 * Nothing is quoted, and no shell sees it. A zeroed list is empty. */
#ifndef COMMON_ARGV_H
#define COMMON_ARGV_H

#include "common/error.h"

#include <stddef.h>

/* More than any of our command lines needs; the kernel's own limit is far higher. */
enum { ARGV_MAX = 65536 };

struct argv {
    char **items; /* owned, each of them too; items[count] is NULL */
    size_t count;
    size_t capacity;
};

void argv_done(struct argv *a);
int argv_add(struct argv *a, const char *text, struct error *err);
int argv_printf(struct argv *a, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds every string of a NULL-terminated list. */
int argv_add_all(struct argv *a, const char *const *texts, struct error *err);

/* For an environment: sets NAME=VALUE and replaces an earlier value of that name. */
int argv_set_env(struct argv *a, const char *name, const char *value, struct error *err);
/* Removes NAME; no error if it is not there. */
void argv_unset_env(struct argv *a, const char *name);
/* The value of NAME, or NULL. */
const char *argv_get_env(const struct argv *a, const char *name);

/* The value of NAME in a NULL-terminated list of NAME=VALUE, or NULL. */
const char *env_get(char *const *environment, const char *name);

#define cleanup_argv __attribute__((cleanup(argv_done)))

#endif
