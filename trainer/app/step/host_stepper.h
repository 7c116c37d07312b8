/* One optimizer step over all ranks: micro-batches forward and backward, gradient buckets summed
 * while backward goes on, then SGD. What a step means is step.h's; here is the host's way, and the
 * choice between it and a device's. */
#ifndef TRAINER_APP_STEP_HOST_STEPPER_H
#define TRAINER_APP_STEP_HOST_STEPPER_H

#include "trainer/app/step/step.h"
#include "trainer/data/dataset/loader.h"

struct host_stepper_options {
    int accumulate;
    struct sgd_step sgd;
    bool decay_all;                /* else only weights of two and more dimensions */
    bool decay_biases;             /* those too, but for norms' */
    float bias_rate;               /* of biases, but for norms': times the rate of the rest; 0: 1 */
    float clip_norm;               /* of the mean gradient; 0: none */
    struct device_sum *device_sum; /* comm/device_sum.h; borrowed, NULL where the host sums */
    bool check_operators;
    float loss_scale; /* that the backend was opened with; 0: 1 */
};
/* NET must have its training pass. */
int host_stepper_open(struct stepper *s, struct network *net, struct comm *comm,
                      const struct host_stepper_options *options, struct error *err);
void host_stepper_done(struct stepper *s);

/* Forward and backward of one micro-batch, 0 .. accumulate - 1; the last one starts the sums. On a
 * device BATCH lies in its host_alloc memory and stays as it is until the next call for a
 * micro-batch has returned. */
int host_stepper_micro(struct stepper *s, const struct batch *batch, struct error *err);
/* In place of the micro-batches that are still missing: the step is given up. */
int host_stepper_give_up(struct stepper *s, struct error *err);
/* Takes the step at RATE and tells its outcome. A device is left to work on it: then the outcome is
 * that of the step before, which is known, or of none. All ranks hear of a step at the same time.
 */
int host_stepper_finish(struct stepper *s, double rate, struct step_outcome *ret,
                        struct error *err);

/* Steps that were taken and whose outcome is not known: 0 or 1. */
int host_stepper_pending(const struct stepper *s);
/* Waits for that one. */
int host_stepper_settle(struct stepper *s, struct step_outcome *ret, struct error *err);

#endif
