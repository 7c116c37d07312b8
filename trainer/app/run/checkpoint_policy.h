/* Schedule of checkpoints in training: at the end of each epoch, and in addition every N steps or
 * after some time. Steps are counted alike by all ranks; the time is measured by rank 0, which
 * sends its decision with the all-reduce of a step (stepper.h).
 *
 * An automatic policy chooses the time T at which checkpoints and lost work together cost least. A
 * failure loses half of T on average, a checkpoint costs C, and failures are M apart in the mean:
 * T = sqrt(2 C M) - C (Young, "A first order approximation to the optimum checkpoint interval",
 * CACM 17(9), 1974; Daly, "A higher order estimate of the optimum checkpoint interval for restart
 * dumps", FGCS 22(3), 2006), between a minute and two hours, and at least ten times as long as a
 * write takes. Until C is known T is a minute. */
#ifndef TRAINER_APP_RUN_CHECKPOINT_POLICY_H
#define TRAINER_APP_RUN_CHECKPOINT_POLICY_H

#include "common/error.h"
#include "trainer/app/options/interval.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_policy {
    struct interval every;
    int64_t mtbf;       /* nanoseconds between two failures; 0: not an automatic policy */
    int64_t since;      /* clock_now() at the last checkpoint, or at the start */
    int64_t saved_step; /* step of the last one that was begun, the same on all ranks; -1: none */
    int64_t saved_at;   /* clock_wall() when it was complete, on rank 0; 0: it is not, or refused */
    bool asked;         /* rank 0's time was up */
};

/* EVERY is --checkpoint-every, MTBF --mtbf. */
int checkpoint_policy_open(struct checkpoint_policy *k, const char *every, const char *mtbf,
                           struct error *err);
/* A checkpoint has cost the training COST and its write took WRITE, nanoseconds: an automatic
 * policy settles its time. Returns true if it became another one, by more than a quarter. */
bool checkpoint_policy_learn(struct checkpoint_policy *k, int64_t cost, int64_t write);
/* Returns true if a checkpoint by count of steps follows step NUMBER: the same on every rank. */
bool checkpoint_policy_falls_on(const struct checkpoint_policy *k, int64_t number);
/* Returns true if a checkpoint is due after STEP, which is done. */
bool checkpoint_policy_is_due(const struct checkpoint_policy *k, int64_t step);
/* Returns true if so much time has passed that the next step should end with a checkpoint. For
 * rank 0. */
bool checkpoint_policy_is_time(const struct checkpoint_policy *k);

#endif
