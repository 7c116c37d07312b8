/* Watcher of a folder into which a training writes checkpoints. The training runs on this host or
 * on another one that shares the folder.
 *
 * The kernel reports files created from this host (inotify), but not those that other hosts write
 * to a shared file system (NFS, EFS, FSx). So no wait is longer than CHECKPOINT_WATCH_SECONDS,
 * after which the folder is read in any case. */
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
    int events;   /* inotify descriptor; -1: none, polling only */
    int64_t look; /* nanoseconds between two polls: CHECKPOINT_WATCH_SECONDS */
    char *owned;  /* the folder */
};

#define CHECKPOINT_WATCH_CLOSED                                                                    \
    { .events = -1 }

/* Creates FOLDER if it is missing: the training may start later. */
int checkpoint_watch_open(struct checkpoint_watch *watch, const char *folder, struct error *err);
void checkpoint_watch_done(struct checkpoint_watch *watch);

/* Returns when a file has arrived, STOP is readable (-1: none), DEADLINE has passed, or it is time
 * for another poll. */
int checkpoint_watch_wait(struct checkpoint_watch *watch, int stop, int64_t deadline,
                          struct error *err);

/* Opens the oldest valid checkpoint newer than AFTER. Advances AFTER to it and past invalid ones,
 * with a line for each of these in NOTES. An open FILE stays readable even if its training removes
 * it. */
int checkpoint_watch_next(const struct checkpoint_watch *watch, struct checkpoint_position *after,
                          struct safetensors *file, bool *ret_found, struct buf *notes,
                          struct error *err);

#endif
