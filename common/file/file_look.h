/* Existence checks that tell absence from failure.
 *
 * If the system does not answer (EACCES, EIO, ESTALE, EMFILE, ...), that is an error and not an
 * absence: a job must not begin anew, or use another place, because a file could not be read for a
 * moment. */
#ifndef COMMON_FILE_FILE_LOOK_H
#define COMMON_FILE_FILE_LOOK_H

#include "common/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* Returns true if this errno of a failed open or stat means that nothing has that name (ENOENT,
 * ENOTDIR). Any other one (EACCES, EIO, ESTALE, EMFILE, ...) leaves it open. */
bool file_is_absence(int number);

/* Calls stat for PATH, following links. *RET_THERE is false if PATH does not exist. If the system
 * gives no answer, that is an error (EXIT_CODE_CONFIG, os_errno). RET may be NULL. */
int file_look(const char *path, struct stat *ret, bool *ret_there, struct error *err);

/* Sets *RET_FOLDER to true if PATH is a folder; otherwise as file_look. */
int file_look_folder(const char *path, bool *ret_folder, struct error *err);

#endif
