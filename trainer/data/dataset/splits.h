/* Detection of training and evaluation parts among a data set's folders.
 *
 * A class may be named `train` or `test`, too. Folders without pictures, and names that begin with
 * a dot, are ignored. Names of parts, in any case, in order of preference: train, training;
 * validation, valid, val, dev, eval, test, testing. Such a folder can be a part if it holds class
 * folders. DIR is interpreted as
 *
 *     classes   no folder has the name of a part and class folders in it
 *     parts     every folder has the name of a part, and at least one of them class folders
 *
 * If there are both, candidates for parts and other folders:
 *
 *     parts     one for training and one for evaluation share the name of a class, and no other
 *               folder has class folders of these names; the others are not used
 *     classes   none of that, and no folder in a candidate has the name of one beside it
 *     refused   all else: there are two readings
 *
 * In the last three cases, and for parts that cannot be used, a message explains the choice. */
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
            [NAME_MAX + 1];     /* all parts with class folders, by name; ends with an empty name */
    char note[SPLITS_NOTE_MAX]; /* explanation for the user of how DIR was interpreted; empty: none
                                 * needed */
};

/* EXIT_CODE_DATA: DIR cannot be read, or has two readings; the error gives both and what to do. */
int splits_find(struct splits *ret, const char *dir, struct error *err);

#endif
