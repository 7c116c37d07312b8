/* Which folders of a data set are its parts for training and for evaluation, and which are classes:
 * a class may be called `train` or `test`, too.
 *
 * Folders without pictures, and names that begin with a dot, do not count. Names of parts, in any
 * case, the first that is there of each list: train, training; validation, valid, val, dev, eval,
 * test, testing. Such a folder can be a part if it holds class folders. DIR is read as
 *
 *     classes   no folder has the name of a part and class folders in it
 *     parts     every folder has the name of a part, and at least one of them class folders
 *
 * and where there are both, other folders and one that could be a part,
 *
 *     parts     one for training and one for evaluation share the name of a class, and no other
 *               folder has class folders of these names; the others are not used
 *     classes   none of that, nor is a folder in a part called as one beside it
 *     refused   all else: there are two readings
 *
 * The last three, and parts that cannot be used, are told in words. */
#ifndef TRAINER_DATA_DATASET_SPLITS_H
#define TRAINER_DATA_DATASET_SPLITS_H

#include "common/error.h"

#include <limits.h>
#include <stdbool.h>

enum { SPLITS_NOTE_MAX = 1024, SPLITS_PARTS_MAX = 9 };

struct splits {
    bool parts;                  /* else DIR itself holds the classes */
    char training[NAME_MAX + 1]; /* names in DIR; empty: there is none */
    char validation[NAME_MAX + 1];
    char all[SPLITS_PARTS_MAX]
            [NAME_MAX + 1];     /* every part with class folders, by name; then empty */
    char note[SPLITS_NOTE_MAX]; /* what a user should know of how DIR was read; empty: nothing */
};

/* EXIT_CODE_DATA: DIR cannot be read, or has two readings; the error names both and what to do. */
int splits_find(struct splits *ret, const char *dir, struct error *err);

#endif
