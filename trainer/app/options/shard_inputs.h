/* Shards of a data set, for training and for evaluation.
 *
 * PATH is understood by what is found there:
 *
 *     a shard, or FOLDER/PREFIX*                 these, for what is asked
 *     a folder of shards                         names that begin with train are for training; with
 *                                                validation, valid, val, test, eval or dev for
 *                                                evaluation; without such names all
 *     a folder with train/ or training/ of it    that, and validation/, valid/, val/, test/, eval/
 *                                                or dev/ beside it */
#ifndef TRAINER_APP_OPTIONS_SHARD_INPUTS_H
#define TRAINER_APP_OPTIONS_SHARD_INPUTS_H

#include "common/error.h"

#include <stdbool.h>

struct shard_inputs {
    bool found; /* there are shards; else nothing is known */
    char training[4096];
    char validation[4096]; /* empty: there are none for evaluation alone */
};

int shard_inputs_find(struct shard_inputs *ret, const char *path, struct error *err);

#endif
