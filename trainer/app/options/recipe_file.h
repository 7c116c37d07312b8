/* Recipe of the user's own: a file with a flag a line, in the form that `--recipe NAME --print`
 * writes.
 *
 *     # what it is
 *     --lr 0.4            # why
 *     --schedule=cosine
 *
 * One file a process. */
#ifndef TRAINER_APP_OPTIONS_RECIPE_FILE_H
#define TRAINER_APP_OPTIONS_RECIPE_FILE_H

#include "common/error.h"
#include "trainer/models/model_types.h"

#include <stdbool.h>

/* Returns true if the argument of --recipe is a path and no name: it has a '/' or a '.'. */
bool recipe_file_is(const char *name);

/* Returns the settings of the file, which end with flag NULL and stay until another file is read;
 * NULL with EXIT_CODE_USAGE, which names file and line. */
const struct model_setting *recipe_file_read(const char *path, struct error *err);

#endif
