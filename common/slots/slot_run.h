/* One job on the first slots, from its start to its end. On rank 0. */
#ifndef COMMON_SLOTS_SLOT_RUN_H
#define COMMON_SLOTS_SLOT_RUN_H

#include "common/argv.h"
#include "common/error.h"
#include "common/slots/slots.h"

enum { SLOT_FAILURE_SIZE = 256 };

struct slot_task {
    int size;                       /* ranks: slots 0 .. SIZE - 1 */
    const char *folder;             /* as of struct slot_job */
    const struct argv *argv;        /* of all its ranks */
    double limit;                   /* seconds until it is ended */
    const char *const *environment; /* as of struct slot_job */
};

/* Runs TASK until all its ranks have ended. Why it failed is written to FAILURE, "" if it did not.
 * Returns -1 with EXIT_CODE_STOPPED if a rank was asked to stop, once all have ended. */
int slot_run(struct slots *s, const struct slot_task *task, char failure[SLOT_FAILURE_SIZE],
             struct error *err);

#endif
