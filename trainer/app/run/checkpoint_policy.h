/* When a checkpoint is due: at the end of each epoch in any case; beside that every
 * so many steps, which all ranks count alike, or after some time by the clock of rank 0, which
 * tells the others with the sums of a step (host_stepper.h). */
#ifndef TRAINER_APP_RUN_CHECKPOINT_POLICY_H
#define TRAINER_APP_RUN_CHECKPOINT_POLICY_H

#include "common/error.h"
#include "trainer/app/options/interval.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_policy {
    struct interval every;
    int64_t since;      /* clock_now() of the last one, or of the start */
    int64_t saved_step; /* of the last one; -1 for none */
    bool asked;         /* rank 0's time was up */
};

/* EVERY is --checkpoint-every. */
int checkpoint_policy_open(struct checkpoint_policy *k, const char *every, struct error *err);
/* Whether a checkpoint belongs behind step NUMBER: the same on every rank. */
bool checkpoint_policy_falls_on(const struct checkpoint_policy *k, int64_t number);
/* Whether one is due behind STEP, which is done. */
bool checkpoint_policy_is_due(const struct checkpoint_policy *k, int64_t step);
/* Whether so much time has gone that the next step ends with one. For rank 0. */
bool checkpoint_policy_is_time(const struct checkpoint_policy *k);

#endif
