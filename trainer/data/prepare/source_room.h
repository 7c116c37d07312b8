/* Folder in which archives are unpacked for a data set.
 *
 * It lies within the target, and is removed when the set is complete. One process at a time has
 * it. */
#ifndef TRAINER_DATA_PREPARE_SOURCE_ROOM_H
#define TRAINER_DATA_PREPARE_SOURCE_ROOM_H

#include "common/error.h"

#include <limits.h>

struct source_room {
    char folder[PATH_MAX];
    const char *target; /* borrowed */
    int lock;
};
#define SOURCE_ROOM_CLOSED                                                                         \
    { .lock = -1 }

/* Makes TARGET and the folder. Refuses, with EXIT_CODE_CONFIG, a target that holds something else,
 * or that another process uses. */
int source_room_open(struct source_room *ret, const char *target, struct error *err);

/* Sets PLAIN to the archive at PATH without its compression by gzip: itself, or a file in the
 * room, which is made if it is not there yet. The room on the disk is checked first. */
int source_room_plain(const struct source_room *room, const char *path, char plain[PATH_MAX],
                      struct error *err);

/* Removes the folder and all files in it. */
void source_room_remove(struct source_room *room);
void source_room_done(struct source_room *room);

#define cleanup_source_room __attribute__((cleanup(source_room_done)))

#endif
