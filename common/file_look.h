/* Existence checks that tell absence from failure.
 *
 * If the system does not answer (EACCES, EIO, ESTALE, EMFILE, ...), that is an error and not an
 * absence: a job must not begin anew, or use another place, because a file could not be read for a
 * moment. */
#ifndef COMMON_FILE_LOOK_H
#define COMMON_FILE_LOOK_H

#include "common/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* Whether this errno of a failed open or stat means that there is nothing by that name (ENOENT,
 * ENOTDIR). Any other one (EACCES, EIO, ESTALE, EMFILE, ...) says nothing about what is there. */
bool file_is_absence(int number);

/* What PATH is, links followed. *RET_THERE is false where there is nothing; where the system does
 * not say, that is an error (EXIT_CODE_CONFIG, os_errno). RET may be NULL. */
int file_look(const char *path, struct stat *ret, bool *ret_there, struct error *err);

/* The same: whether PATH is a folder. */
int file_look_folder(const char *path, bool *ret_folder, struct error *err);

#endif
