/* Checks of an output path before the work whose result is written there.
 *
 * They find errors early, and keep existing files of others from being overwritten. */
#ifndef COMMON_OUTPUT_PATH_H
#define COMMON_OUTPUT_PATH_H

#include "common/error.h"

#include <stdbool.h>

/* What a file that this program may replace begins with. */
struct output_path_kind {
    const char *what;          /* "an index of annotations" */
    const char *const *starts; /* NULL-terminated */
};

/* 0 when PATH can be published (file.h): its folder is there and may be written to, and PATH is not
 * there yet, or empty, or a regular file of KIND; with KIND NULL it must not be there. OPTION names
 * the flag in the error, which has EXIT_CODE_CONFIG. */
int output_path_check(const char *path, const struct output_path_kind *kind, const char *option,
                      struct error *err);

/* True when both are one and the same file, also by links. */
bool output_path_is_same(const char *a, const char *b);

#endif
