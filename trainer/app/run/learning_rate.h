/* Learning rate schedule of a run, from its options; converts epochs to steps. */
#ifndef TRAINER_APP_RUN_LEARNING_RATE_H
#define TRAINER_APP_RUN_LEARNING_RATE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/optim/schedule.h"

#include <stdint.h>

/* Checks before the data is opened what does not depend on the steps of an epoch. */
int learning_rate_check(const struct options *o, int64_t global_batch, struct error *err);
/* Errors of both have EXIT_CODE_USAGE and name the flag. */
int learning_rate_settle(struct schedule *ret, const struct options *o, int64_t steps_per_epoch,
                         int64_t global_batch, struct error *err);

/* Appends "lr 0.1 for 256 images a step: 0.0125 for 32", or what the recipe takes for the images a
 * step; nothing if the rate does not follow them. */
int learning_rate_scale_text(struct buf *out, const struct options *o, const struct schedule *s,
                             int64_t global_batch, struct error *err);
/* Appends a warning if the recipe's rate is for another number of images a step, which it does not
 * follow. */
int learning_rate_images_text(struct buf *out, const struct options *o, int64_t global_batch,
                              struct error *err);
/* Appends a line for each option that has no effect because the run is too short. */
int learning_rate_unreached_text(struct buf *out, const struct options *o, const struct schedule *s,
                                 struct error *err);

#endif
