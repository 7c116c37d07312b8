/* Mapping of class numbers by name. It leads from the numbers in a data set to those of the model
 * or of the training data. */
#ifndef TRAINER_APP_TASK_CLASSES_H
#define TRAINER_APP_TASK_CLASSES_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct classes {
    char *const *names;
    size_t count;
    const char *where; /* where they come from, for errors */
};

/* Fills MAP[i] with the number in ALL of class i of SET. A class that ALL lacks is an error
 * (EXIT_CODE_DATA) that names it; SET may lack some of ALL's. */
int classes_map(const struct classes *set, const struct classes *all, int32_t *map,
                struct error *err);

/* Writes "'a', 'b', ..." of ALL's classes that SET lacks. Returns their number. */
size_t classes_missing(const struct classes *set, const struct classes *all, char *text,
                       size_t size);

/* Maps SET's classes, a subset of ALL's, to the numbers they have there. ALOUD: warns of classes
 * without pictures. WHERE names the set. */
int classes_place(struct dataset *set, const char *where, const struct classes *all, bool aloud,
                  struct error *err);

#endif
