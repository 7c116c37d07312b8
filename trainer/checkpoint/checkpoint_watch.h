/* Looks on while a training writes checkpoints into a folder, on this host or on another one that
 * shares the folder.
 *
 * The kernel tells of files that come to the folder from this host (inotify). Of what other hosts
 * write to a shared file system (NFS, EFS, FSx) it tells nothing: so a wait is never longer than
 * CHECKPOINT_WATCH_SECONDS, after which the folder is worth a look in any case. */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_WATCH_H
#define TRAINER_CHECKPOINT_CHECKPOINT_WATCH_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/checkpoint/checkpoint_list.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHECKPOINT_WATCH_SECONDS = 20 };

struct checkpoint_watch {
    int events;   /* -1: none, looks alone */
    int64_t look; /* nanoseconds between two looks: CHECKPOINT_WATCH_SECONDS */
    char *owned;  /* the folder */
};

#define CHECKPOINT_WATCH_CLOSED                                                                    \
    { .events = -1 }

/* FOLDER is made when missing: the training may begin later. */
int checkpoint_watch_open(struct checkpoint_watch *watch, const char *folder, struct error *err);
void checkpoint_watch_done(struct checkpoint_watch *watch);

/* Returns when a file has come, STOP is readable (-1: none), DEADLINE has passed, or it is time for
 * another look. */
int checkpoint_watch_wait(struct checkpoint_watch *watch, int stop, int64_t deadline,
                          struct error *err);

/* Opens the oldest valid checkpoint that is newer than AFTER, which moves on to it and past those
 * that are not valid; a line for each of these goes to NOTES. Who has FILE open can read it even
 * when its training removes it. */
int checkpoint_watch_next(const struct checkpoint_watch *watch, struct checkpoint_place *after,
                          struct safetensors *file, bool *ret_found, struct buf *notes,
                          struct error *err);

#endif
