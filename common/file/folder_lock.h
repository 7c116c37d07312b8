/* Lock of a folder for the one job that writes there.
 *
 * The folder holds checkpoints, or a model: two jobs would remove each other's files. The lock is a
 * file, .ringtrain.lock, which names its holder; the kernel releases it when the holder ends,
 * however that happens. On a file system without locks it has no effect. */
#ifndef COMMON_FILE_FOLDER_LOCK_H
#define COMMON_FILE_FOLDER_LOCK_H

#include "common/error.h"

#include <stdbool.h>

enum { FOLDER_LOCK_TEXT = 512 };

struct folder_lock {
    int fd; /* open while held */
    bool held;
    char path[4096];
};

/* WHO names this job. *RET_TAKEN is false if another job holds the lock; HOLDER is then its WHO
 * ("" if not written yet). */
int folder_lock_take(struct folder_lock *lock, const char *folder, const char *who,
                     char holder[FOLDER_LOCK_TEXT], bool *ret_taken, struct error *err);
/* Releases the lock; a zeroed lock is fine. */
void folder_lock_done(struct folder_lock *lock);

#endif
