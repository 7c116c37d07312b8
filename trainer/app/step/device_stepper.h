/* The step of a backend that is a device of its own: forward, backward, sums over ranks, optimizer
 * and refresh are enqueued as one, recorded the second time and replayed from then on. The host
 * feeds the batch (input_staging.h), the rate and the flags, and reads the flags when the step has
 * run, which is while the next one runs: it never waits for the step that it has just enqueued, and
 * is one step ahead of the device at most.
 *
 * The sums go from device to device where a library for that is there (comm/device_sum.h);
 * otherwise through host memory, unrecorded. What a step means is what it
 * means on the host (step.h): the same flags, the same order of additions. */
#ifndef TRAINER_APP_STEP_DEVICE_STEPPER_H
#define TRAINER_APP_STEP_DEVICE_STEPPER_H

#include "trainer/app/step/step.h"
#include "trainer/data/dataset/loader.h"

/* STEPPER is borrowed and must outlive it. */
int device_stepper_open(struct device_stepper **ret, struct stepper *stepper, struct error *err);
void device_stepper_close(struct device_stepper *d);

int device_stepper_micro(struct device_stepper *d, const struct batch *batch, struct error *err);
int device_stepper_give_up(struct device_stepper *d, struct error *err);
/* Tells of the step before; see host_stepper_finish. */
int device_stepper_finish(struct device_stepper *d, struct step_outcome *ret, struct error *err);
int device_stepper_pending(const struct device_stepper *d);
int device_stepper_settle(struct device_stepper *d, struct step_outcome *ret, struct error *err);

#endif
