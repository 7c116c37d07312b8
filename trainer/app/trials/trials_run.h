/* Trials on slices of slots (slots.h), as many at a time as there are slices. On rank 0. */
#ifndef TRAINER_APP_TRIALS_TRIALS_RUN_H
#define TRAINER_APP_TRIALS_TRIALS_RUN_H

#include "common/error.h"
#include "common/trials/trials_state.h"
#include "trainer/app/slots/slots.h"

#include <stdbool.h>

/* What a slice does. */
struct trials_slice {
    bool runs;
    bool ending; /* it was told to end */
    struct trials_number number;
    char why[TRIALS_WHY_SIZE]; /* it was told to; "": it ends by itself */
};

struct trials_run {
    struct slots *slots; /* borrowed, and so are these */
    struct trials_state *state;
    const char *folder;
    int threads;
    struct trials_slice *slices; /* owned; [slice_count] */
    int slice_count;
};

/* The figures of a trial, as `read` of its slots finds them. */
enum { TRIALS_METRIC, TRIALS_RATE };
/* For struct slots: CONTEXT is the plan's metric. */
void trials_run_read(void *context, const char *folder, int code, double figures[SLOTS_FIGURES]);

/* Runs all trials without a result. Whatever a trial does, the others go on; results are written
 * after each end. Returns -1 with EXIT_CODE_STOPPED if a rank was asked to stop: trials that were
 * under way have no result then. */
int trials_run_all(struct trials_run *r, struct error *err);

/* Trains configuration CONFIG on all slots. */
int trials_run_best(struct trials_run *r, size_t config, struct error *err);

#endif
