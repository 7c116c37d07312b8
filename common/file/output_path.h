/* Checks of an output path before the work that writes there.
 *
 * They find errors early, and keep existing files of others from being overwritten. */
#ifndef COMMON_FILE_OUTPUT_PATH_H
#define COMMON_FILE_OUTPUT_PATH_H

#include "common/error.h"

#include <stdbool.h>

/* A kind of file that may be replaced, recognised by its first bytes. */
struct output_path_kind {
    const char *what;          /* "an index of annotations" */
    const char *const *starts; /* NULL-terminated */
};

/* Returns 0 if PATH can be published (file.h): its folder exists and is writable, and PATH is
 * missing, or empty, or a regular file of KIND; with KIND NULL it must be missing. Errors name the
 * flag OPTION and have EXIT_CODE_CONFIG. */
int output_path_check(const char *path, const struct output_path_kind *kind, const char *option,
                      struct error *err);

/* Returns true if both paths lead to the same file, also through links. */
bool output_path_is_same(const char *a, const char *b);

#endif
