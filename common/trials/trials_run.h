/* Trials on slices of slots (slots.h).
 *
 * As many run at a time as there are slices. They are started, watched and written down here,
 * whatever the program is. On rank 0. */
#ifndef COMMON_TRIALS_TRIALS_RUN_H
#define COMMON_TRIALS_TRIALS_RUN_H

#include "common/argv.h"
#include "common/error.h"
#include "common/slots/slots.h"
#include "common/trials/trials_state.h"

#include <stdbool.h>

/* The program that is tried. */
struct trials_program {
    const char *name; /* of the command, for people: "ringtrain trials" */
    const char *use;  /* what to do with the best recipe, before its path */
    void *context;
    /* Fills RET with the command line of trial N, which writes to FOLDER. */
    int (*trial)(void *context, const struct trials_plan *plan, const struct trials_number *n,
                 const char *folder, struct argv *ret, struct error *err);
    /* The same for a run of configuration CONFIG alone. */
    int (*best)(void *context, const struct trials_plan *plan, size_t config, const char *folder,
                struct argv *ret, struct error *err);
};

/* What a slice does. */
struct trials_slice {
    bool runs;
    bool ending; /* it was asked to end */
    struct trials_number number;
    char why[TRIALS_WHY_SIZE]; /* why it was asked to end; "": it ends by itself */
};

struct trials_run {
    struct slots *slots; /* borrowed, and so are these */
    struct trials_state *state;
    const char *folder;
    const struct trials_program *program;
    struct trials_slice *slices; /* owned; [slice_count] */
    int slice_count;
};

/* The figures of a trial, as `read` of its slots finds them; NaN: unknown. */
enum { TRIALS_METRIC, TRIALS_RATE };

/* Runs all trials without a result. Whatever a trial does, the others continue; results are written
 * after each end. Returns -1 with EXIT_CODE_STOPPED if a rank was asked to stop: trials that were
 * under way have no result then. */
int trials_run_all(struct trials_run *r, struct error *err);

/* Runs configuration CONFIG on all slots. */
int trials_run_best(struct trials_run *r, size_t config, struct error *err);

#endif
