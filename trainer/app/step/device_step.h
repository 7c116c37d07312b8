/* Optimizer step of a backend that is a separate device (a GPU).
 *
 * Forward, backward, all-reduce, optimizer and the refresh of half-precision weights are enqueued
 * as one sequence, recorded the second time and replayed from then on. The host provides the batch
 * (input_staging.h), the learning rate and the flags. It reads the resulting flags while the next
 * step runs: it never waits for the step it has just enqueued, and is at most one step ahead of
 * the device.
 *
 * Gradients are all-reduced from device to device if there is a library for it
 * (comm/device_sum.h), else through host memory, unrecorded. The semantics are those of step.h, as
 * on the host: the same flags, the same order of additions. */
#ifndef TRAINER_APP_STEP_DEVICE_STEP_H
#define TRAINER_APP_STEP_DEVICE_STEP_H

#include "trainer/app/step/step.h"

extern const struct stepper_table DEVICE_STEP;

#endif
