/* One optimizer step over all ranks: forward and backward of micro-batches, gradient buckets
 * summed while backward continues, then the optimizer. step.h defines the semantics; the network's
 * backend decides between host_step.h and device_step.h.
 *
 * A stepper is the object that takes steps, one after the other; a step is what it takes. */
#ifndef TRAINER_APP_STEP_STEPPER_H
#define TRAINER_APP_STEP_STEPPER_H

#include "trainer/app/options/options.h"
#include "trainer/app/step/step.h"
#include "trainer/app/step/strategy_row.h"
#include "trainer/data/dataset/loader.h"

struct stepper_options {
    int accumulate;
    struct optimizer_step optimizer;
    bool decay_all;                /* weight decay applies to all parameters; else only to weights
                                    * of two and more dimensions */
    bool decay_biases;             /* also to biases, but not those of norms */
    float bias_rate;               /* learning rate of biases (but norms') relative to the rest; 0:
                                    * 1 */
    float clip_norm;               /* of the mean gradient; 0: no clipping */
    struct device_sum *device_sum; /* comm/device_sum.h; borrowed, NULL if the host all-reduces */
    enum comm_type reduce_type;    /* of gradients on their way to other ranks */
    bool check_operators;
    float loss_scale; /* that the backend was opened with; 0: 1 */
    enum option_strategy strategy;
    struct comm *all; /* borrowed; the ranks with parameter servers, NULL: there are none */
    int sync_every;   /* steps between two means of local-sgd */
    int staleness;    /* steps of ps-async by which workers may differ */
};
/* Returns the row of a way for ranks to learn together. */
const struct strategy *strategy_of(enum option_strategy kind);

/* NET must have a training pass. */
int stepper_open(struct stepper *s, struct network *net, struct comm *comm,
                 const struct stepper_options *options, struct error *err);
void stepper_done(struct stepper *s);

/* Runs forward and backward of one micro-batch, 0 .. accumulate - 1; the last one starts the
 * all-reduce. On a device BATCH must lie in host_alloc memory and stay unchanged until the next
 * call for a micro-batch has returned. */
int stepper_micro(struct stepper *s, const struct batch *batch, struct error *err);
/* Gives the step up: call it instead of the remaining micro-batches. */
int stepper_give_up(struct stepper *s, struct error *err);
/* Takes the step with learning rate RATE and returns an outcome. A device then still works on this
 * step, and the outcome is that of the step before, or unknown if there was none. All ranks learn
 * of a step at the same time. */
int stepper_finish(struct stepper *s, double rate, struct step_outcome *ret, struct error *err);

/* Collective, with no step under way: brings together what the strategy has divided or let differ
 * between ranks (strategy_row.h). Call before weights are saved or scored. */
int stepper_collect(struct stepper *s, struct error *err);
/* Returns true if ARENA has the same values on all ranks now. */
bool stepper_agrees(const struct stepper *s, enum store_arena arena);

/* Waits for a pending step and returns its outcome. */
int stepper_settle(struct stepper *s, struct step_outcome *ret, struct error *err);

#endif
