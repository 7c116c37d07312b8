/* Classes go by their names: which numbers those of a set have in what it is held against, the
 * model's classes or those of the training data. */
#ifndef TRAINER_APP_TASK_CLASSES_H
#define TRAINER_APP_TASK_CLASSES_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

struct classes {
    char *const *names;
    size_t count;
    const char *where; /* what holds them, for the error */
};

/* Fills MAP[i] with the number that class i of SET has in ALL. A class that is not there is an
 * error (EXIT_CODE_DATA) that names it; SET may lack some of ALL's. */
int classes_map(const struct classes *set, const struct classes *all, int32_t *map,
                struct error *err);

/* Writes "'a', 'b', ..." of ALL's classes that SET lacks. Returns how many those are. */
size_t classes_missing(const struct classes *set, const struct classes *all, char *text,
                       size_t size);

#endif
