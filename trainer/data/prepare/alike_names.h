/* Names that differ in upper and lower case alone. A file system that ignores case holds one file
 * or folder for both; and two such classes may be one by mistake. */
#ifndef TRAINER_DATA_PREPARE_ALIKE_NAMES_H
#define TRAINER_DATA_PREPARE_ALIKE_NAMES_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"

#include <limits.h>
#include <stddef.h>

struct alike_names {
    size_t count;                           /* names that are alike another one before them */
    char first[PATH_MAX], second[PATH_MAX]; /* two of these; empty: there are none */
};

/* Among the classes of SET. */
int alike_names_of_classes(const struct dataset *set, struct alike_names *ret, struct error *err);
/* Among the pictures of each class. */
int alike_names_of_pictures(const struct dataset *set, struct alike_names *ret, struct error *err);

#endif
