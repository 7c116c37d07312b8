/* The checkpoint that a run is writing: on a thread of its own, from a copy of the weights, while
 * training continues. Rank 0 has one.
 *
 * At most one is under way. Where there is no memory for the copy, a checkpoint is written by the
 * caller's thread, before saving_begin returns. */
#ifndef TRAINER_APP_RUN_SAVING_H
#define TRAINER_APP_RUN_SAVING_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/checkpoint/writer.h"

#include <stdbool.h>
#include <stdint.h>

/* What to write and what came of it. */
struct saving_file {
    const char *folder; /* borrowed */
    int64_t step;
    int keep; /* checkpoints that stay in the folder */
    const struct array *arrays;
    size_t count;
    char *state;  /* owned; checkpoint_words */
    char *config; /* owned, or NULL */
    /* Of the write: */
    char path[CHECKPOINT_PATH_MAX];
    struct buf notes; /* lines for the log */
    bool refused;     /* not written: weights are not finite, see `why` */
    struct error why;
    int64_t written_at; /* clock_wall() when it was complete */
    int64_t took;       /* nanoseconds of the write, and of its thread's processor time */
    int64_t processor;
};

struct saving {
    struct writer writer;
    struct snapshot snapshot;
    struct saving_file file; /* the writer's while it writes */
    bool told;               /* that there is no memory for a copy */
    bool ended;              /* the caller's thread has written; the outcome is not reported yet */
    struct error failure;    /* of that write */
};

/* Ends the thread; waits for a write under way. */
void saving_done(struct saving *s);
/* Returns true if a checkpoint is being written or its outcome was not reported. */
bool saving_is_busy(const struct saving *s);
/* Begins to write FOLDER/step-STEP.safetensors. ARRAYS may change as soon as this returns. Takes
 * STATE and CONFIG (checkpoint_words), also after a failure. S must not be busy. */
int saving_begin(struct saving *s, const struct saving_file *file, struct error *err);
/* Returns how it stands, waiting until DEADLINE at most (0: not at all). WRITER_DONE and
 * WRITER_FAILED come once; s->file then has what came of it, until saving_end. */
enum writer_state saving_look(struct saving *s, int64_t deadline, struct error *err);
/* Call after WRITER_DONE or WRITER_FAILED: S is not busy any more. */
void saving_end(struct saving *s);

#endif
