/* Whether two lists of class names are the same: a model and a set, or two sets. */
#ifndef TASK_CLASSES_H
#define TASK_CLASSES_H

#include "common/error.h"

#include <stddef.h>

struct classes {
    char *const *names;
    size_t count;
    const char *where; /* what holds them, for the error */
};

int classes_agree(const struct classes *a, const struct classes *b, struct error *err);

#endif
