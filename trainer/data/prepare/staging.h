/* Files that are written beside their place.
 *
 * They get their names once all of a group are on the disk. A file that has its name is complete,
 * also after a loss of power, and the disk is waited for once a group.
 *
 * Any number of threads may write to one target, each with a list and names of its own. */
#ifndef TRAINER_DATA_PREPARE_STAGING_H
#define TRAINER_DATA_PREPARE_STAGING_H

#include "common/buf.h"
#include "common/error.h"

#include <limits.h>

/* Makes the folder in which files are written, within TARGET. */
int staging_begin(const char *target, struct error *err);
/* Removes it, if all files have their names. */
void staging_end(const char *target);

/* Adds a file that shall be at PATH to LIST, which is empty at first. TEMP is the path to write it
 * to; OWN tells it from all others of the target. */
int staging_add(const char *target, const char *own, const char *path, struct buf *list,
                char temp[PATH_MAX], struct error *err);

/* Gives all files in LIST their names, makes the folders for them, and empties it. Two files for
 * one place are an error, EXIT_CODE_DATA. */
int staging_publish(const char *target, struct buf *list, struct error *err);

#endif
