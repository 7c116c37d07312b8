/* Groups of flags in --help: a title, and the names of its flags in the order in which they are
 * printed. What people need every day comes first. The order of the table itself (options_*.def) is
 * that of records and of the reference pages. */
#ifndef TRAINER_APP_OPTIONS_HELP_GROUP_H
#define TRAINER_APP_OPTIONS_HELP_GROUP_H

#include <stddef.h>

enum { HELP_GROUP_FLAGS_MAX = 24 };

struct help_group {
    const char *title;
    const char *flags[HELP_GROUP_FLAGS_MAX]; /* NULL-terminated names without "--" */
};

/* Returns all groups. Every flag of options_flags is in exactly one of them. */
const struct help_group *help_groups(size_t *ret_count);

#endif
