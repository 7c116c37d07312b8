/* A way for ranks to learn together: what happens between the gradients of a step and its new
 * weights. stepper.h calls it in this order:
 *
 *     bucket   for each gradient bucket in turn, as it becomes complete; with the last one the
 *              flags of step.h have been put after the gradients
 *     meet     the flags become those of all ranks
 *     update   unless the step changes nothing
 *
 * Time that a call spends waiting for other ranks is added to the stepper's `waited`. */
#ifndef TRAINER_APP_STEP_STRATEGY_ROW_H
#define TRAINER_APP_STEP_STRATEGY_ROW_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/app/step/step.h"

#include <stdbool.h>

struct strategy {
    int (*open)(struct stepper *s, struct error *err); /* NULL: nothing to do */
    void (*done)(struct stepper *s);                   /* the same; after a failed open, too */
    int (*bucket)(struct stepper *s, int index, struct error *err);
    /* *RET_FINITE: so are the loss and all gradients, on all ranks. */
    int (*meet)(struct stepper *s, bool *ret_finite, struct error *err);
    int (*update)(struct stepper *s, struct error *err);
    /* Collective, with no step under way: makes the weights of all ranks the same, the average of
     * weights whole on all of them, and the optimizer's state whole on rank 0. NULL: they always
     * are. */
    int (*collect)(struct stepper *s, struct error *err);
    /* Returns true if ARENA has the same values on all ranks now. */
    bool (*agrees)(const struct stepper *s, enum store_arena arena);
};

/* What the rows share: */

/* Waits for TICKET of COMM. */
int strategy_wait(struct stepper *s, struct comm *comm, uint64_t ticket, struct error *err);
/* Returns the arenas that an update works on. */
struct optimizer_arenas strategy_arenas(const struct stepper *s);
/* Returns true if the flags after the gradients are finite. */
bool strategy_flags_finite(const struct stepper *s);
/* Updates all parameters by the gradients of this rank's arena. */
void strategy_apply(struct stepper *s);
bool strategy_always_agrees(const struct stepper *s, enum store_arena arena);

extern const struct strategy STRATEGY_ALLREDUCE_ROW, STRATEGY_SHARDED_ROW, STRATEGY_LOCAL_SGD_ROW,
    STRATEGY_PS_ASYNC_ROW;

#endif
