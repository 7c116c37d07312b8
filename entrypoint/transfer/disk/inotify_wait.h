/* Wait for changes in a directory tree (inotify): new entries, or files closed after writing.
 *
 * The kernel reports nothing that other hosts write to a shared file system, so do not wait longer
 * than INOTIFY_WAIT_LOOK_SECONDS. */
#ifndef ENTRYPOINT_TRANSFER_DISK_INOTIFY_WAIT_H
#define ENTRYPOINT_TRANSFER_DISK_INOTIFY_WAIT_H

#include "common/error.h"

#include <signal.h>
#include <stdint.h>

enum { INOTIFY_WAIT_LOOK_SECONDS = 20, INOTIFY_WAIT_FOLDERS_MAX = 1024 };

struct inotify_wait {
    int events; /* -1: nothing to watch */
    const char *folder;
};

/* FOLDER, which outlives it, is created if missing; NULL: nothing is watched. */
int inotify_wait_open(struct inotify_wait *w, const char *folder, struct error *err);
void inotify_wait_done(struct inotify_wait *w);

/* Waits for at most NANOSECONDS, or until *LEAVE is not 0, which a signal handler sets: a signal
 * just before the call is seen, too. */
void inotify_wait_wait(struct inotify_wait *w, int64_t nanoseconds,
                       const volatile sig_atomic_t *leave);

#endif
