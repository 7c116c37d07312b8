/* One job at a time writes its checkpoints, or its model, to a folder: two would remove each
 * other's. The lock is a file, .ringtrain.lock, which names its holder; it goes when the holder
 * ends, however that is. Where a file system knows no locks, nobody is kept out. */
#ifndef TRAINER_CHECKPOINT_FOLDER_LOCK_H
#define TRAINER_CHECKPOINT_FOLDER_LOCK_H

#include "common/error.h"

#include <stdbool.h>

enum { FOLDER_LOCK_TEXT = 512 };

struct folder_lock {
    int fd; /* when held */
    bool held;
    char path[4096];
};

/* WHO names this job. *RET_TAKEN is false when another one holds the lock, whose words are then in
 * HOLDER ("" where it has not written them yet). */
int folder_lock_take(struct folder_lock *lock, const char *folder, const char *who,
                     char holder[FOLDER_LOCK_TEXT], bool *ret_taken, struct error *err);
/* Fine for a zeroed lock. */
void folder_lock_done(struct folder_lock *lock);

#endif
