/* The learning rate of a run, from its options: epochs become steps. */
#ifndef TRAINER_APP_RUN_LEARNING_RATE_H
#define TRAINER_APP_RUN_LEARNING_RATE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/optim/schedule.h"

#include <stdint.h>

/* Errors have EXIT_CODE_USAGE and name the flag. */
int learning_rate_settle(struct schedule *ret, const struct options *o, int64_t steps_per_epoch,
                         int64_t global_batch, struct error *err);

/* Appends "lr 0.1 for 256 images a step: 0.0125 for 32"; nothing where the rate is not scaled. */
int learning_rate_tell_scale(struct buf *out, const struct options *o, const struct schedule *s,
                             int64_t global_batch, struct error *err);
/* Appends a line for each part of what was asked for that this run has no steps for. */
int learning_rate_tell_unreached(struct buf *out, const struct options *o, const struct schedule *s,
                                 struct error *err);

#endif
