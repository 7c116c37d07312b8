/* The learning rate of a run, from its options: epochs become steps. */
#ifndef RUN_RATE_H
#define RUN_RATE_H

#include "common/error.h"
#include "optim/schedule.h"
#include "options/options.h"

#include <stdint.h>

/* Errors have EXIT_CODE_USAGE and name the flag. */
int rate_settle(struct schedule *ret, const struct options *o, int64_t steps_per_epoch,
                int64_t global_batch, struct error *err);

#endif
