/* Schedule of checkpoints: at the end of each epoch, and in addition every N steps or after some
 * time. Steps are counted alike by all ranks; the time is measured by rank 0, which sends its
 * decision with the all-reduce of a step (host_stepper.h). */
#ifndef TRAINER_APP_RUN_CHECKPOINT_POLICY_H
#define TRAINER_APP_RUN_CHECKPOINT_POLICY_H

#include "common/error.h"
#include "trainer/app/options/interval.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_policy {
    struct interval every;
    int64_t since;      /* clock_now() at the last checkpoint, or at the start */
    int64_t saved_step; /* step of the last one; -1: none */
    int64_t saved_at;   /* clock_wall() when it was complete, on rank 0; 0: unknown */
    bool asked;         /* rank 0's time was up */
};

/* EVERY is --checkpoint-every. */
int checkpoint_policy_open(struct checkpoint_policy *k, const char *every, struct error *err);
/* Returns true if a checkpoint by count of steps follows step NUMBER: the same on every rank. */
bool checkpoint_policy_falls_on(const struct checkpoint_policy *k, int64_t number);
/* Returns true if a checkpoint is due after STEP, which is done. */
bool checkpoint_policy_is_due(const struct checkpoint_policy *k, int64_t step);
/* Returns true if so much time has passed that the next step should end with a checkpoint. For
 * rank 0. */
bool checkpoint_policy_is_time(const struct checkpoint_policy *k);

#endif
