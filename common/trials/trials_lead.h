/* All of a plan, on rank 0: its trials, the results that are written and printed, and then the best
 * configuration, if it is asked for. */
#ifndef COMMON_TRIALS_TRIALS_LEAD_H
#define COMMON_TRIALS_TRIALS_LEAD_H

#include "common/error.h"
#include "common/file/folder_lock.h"
#include "common/trials/trials_run.h"

#include <stdbool.h>

struct trials_request {
    const struct trials_program *program; /* borrowed, and so are these */
    struct trials_state *state;           /* with the results of an earlier run */
    const char *file;                     /* of the plan, for people */
    const char *folder;                   /* for results */
    bool then_best;                       /* afterwards the best configuration runs on all slots */
};

/* Locks FOLDER for trials of PROGRAM; EXIT_CODE_CONFIG if others are writing there. */
int trials_lock(struct folder_lock *lock, const char *folder, const char *program,
                struct error *err);

/* EXIT_CODE_CONFIG if a trial needs more ranks than there are, EXIT_CODE_DATA if all trials failed,
 * EXIT_CODE_STOPPED as trials_run_all. */
int trials_lead(const struct trials_request *r, struct slots *slots, struct error *err);

#endif
