/* The folder that shards are written to: it belongs to one process at a time, and to one plan.
 *
 * The plan is a text that says what is made; it is kept in the folder as `.ringtrain-prepare`. A
 * later run with the same plan continues with it; with another one it is refused. */
#ifndef TRAINER_DATA_PREPARE_TARGET_H
#define TRAINER_DATA_PREPARE_TARGET_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Names in it that begin so are of `ringtrain prepare`, and no part of the set. */
#define TARGET_OWN ".ringtrain-"

struct target {
    const char *folder; /* borrowed */
    const char *plan;   /* borrowed */
    int lock;           /* descriptor of the plan's file, locked */
    bool resumed;       /* the plan was there already */
};
#define TARGET_CLOSED                                                                              \
    { .lock = -1 }

/* Makes the folder if it is missing, and locks it. Refuses, with EXIT_CODE_CONFIG, one in which
 * another plan or anything else lies, and one that another process has locked. */
int target_open(struct target *ret, const char *folder, const char *plan, struct error *err);
/* Fails as target_open would, before anything is made, if FOLDER holds something else. */
int target_check_usable(const char *folder, struct error *err);
/* Fails with EXIT_CODE_USAGE if FOLDER, which may not exist yet, is the folder SOURCE or lies in
 * it: what is written would become a part of the source. */
int target_check_outside(const char *folder, const char *source, struct error *err);
/* Fails with EXIT_CODE_CONFIG if the folder's file system has less than BYTES left. */
int target_check_room(const char *folder, int64_t bytes, struct error *err);
/* Keeps the plan. */
int target_commit(struct target *target, struct error *err);
void target_done(struct target *target);

#define cleanup_target __attribute__((cleanup(target_done)))

#endif
