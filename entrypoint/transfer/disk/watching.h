/* Waits until something has come to a folder or to those below it, or been closed there after it
 * was written (inotify). Of what other hosts write to a shared file system the kernel tells
 * nothing: so nobody should wait longer than WATCHING_LOOK_SECONDS. */
#ifndef DISK_WATCHING_H
#define DISK_WATCHING_H

#include "common/error.h"

#include <signal.h>
#include <stdint.h>

enum { WATCHING_LOOK_SECONDS = 20, WATCHING_FOLDERS_MAX = 1024 };

struct watching {
    int events; /* -1: nothing to watch */
    const char *folder;
};

/* FOLDER, which outlives it, is made where it is missing; NULL: nothing is watched. */
int watching_open(struct watching *w, const char *folder, struct error *err);
void watching_done(struct watching *w);

/* At most NANOSECONDS, or until *LEAVE is not 0, which a handler sets: a signal that comes just
 * before is heard, too. */
void watching_wait(struct watching *w, int64_t nanoseconds, const volatile sig_atomic_t *leave);

#endif
