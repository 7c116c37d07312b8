/* Chosen members of a tar archive as files of one folder. */
#ifndef TRAINER_DATA_ARCHIVE_TAR_EXTRACT_H
#define TRAINER_DATA_ARCHIVE_TAR_EXTRACT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes each regular member of the archive at PATH whose name, without its folders, WANTED
 * accepts, to FOLDER under that name. A file that is there with the same size is kept: each
 * appears whole or not at all. *RET_COUNT counts them. Errors of the archive are EXIT_CODE_DATA. */
int tar_extract(const char *path, const char *folder, bool (*wanted)(const char *name),
                size_t *ret_count, struct error *err);

#endif
