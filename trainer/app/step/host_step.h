/* Optimizer step of a backend in host memory: gradient buckets go to the strategy while backward
 * continues, then the weights are updated (step.h defines the semantics, stepper.h calls it). */
#ifndef TRAINER_APP_STEP_HOST_STEP_H
#define TRAINER_APP_STEP_HOST_STEP_H

#include "trainer/app/step/step.h"

extern const struct stepper_table HOST_STEP;

#endif
