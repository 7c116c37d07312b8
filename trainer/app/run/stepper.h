/* One optimizer step over all ranks: micro-batches forward and backward, gradient buckets summed
 * while backward goes on, then SGD.
 *
 * The order of additions makes ranks and micro-batches exchangeable: micro-batch gradients are
 * added up first to last, ranks are added by the communicator, and the one scaling, by
 * 1 / (ranks * accumulate), is the optimizer's. So two ranks and one rank with two micro-batches do
 * the same f32 operations.
 *
 * Behind the last bucket ride flags: the request to stop, the loss, the wish for a checkpoint, and
 * whether a rank had to give the step up because it was asked to stop while it had no data, or
 * because its data failed. A step that any rank gave up, or of
 * which the loss or a summed gradient is not finite, changes nothing on any rank: neither weights
 * nor momentum nor running statistics. The latter one counts all the same, as skipped;
 * STEPPER_BAD_STEPS of them in a row are an error, those aside that brought a growing loss scale
 * down. */
#ifndef RUN_STEPPER_H
#define RUN_STEPPER_H

#include "comm/comm.h"
#include "common/error.h"
#include "optim/sgd.h"
#include "run/network.h"
#include "set/loader.h"

#include <stdbool.h>
#include <stdint.h>

/* Places among the flags behind the last gradient. */
enum stepper_flag { FLAG_STOP, FLAG_VOID, FLAG_LOSS, FLAG_IMAGES, FLAG_SAVE, FLAG_FAILED };

enum { STEPPER_BAD_STEPS = 20 };

struct device_stepper; /* device_stepper.h */
struct device_sum;

struct stepper {
    struct network *net;
    struct comm *comm;
    int accumulate;
    struct sgd_step sgd;           /* rate and scale are set in each step */
    bool decay_all;                /* else only weights of two and more dimensions */
    struct device_sum *device_sum; /* borrowed; NULL: one rank, or through host memory */
    bool check_operators;          /* on a device: wait for each operator */

    float *sum;       /* owned; gradients of the micro-batches so far, NULL with one micro-batch */
    float *states;    /* owned; running statistics as they were before this step */
    bool states_kept; /* in this step */
    float loss;       /* of this rank's micro-batches so far: sum over samples */
    float images;
    bool last_micro;
    bool void_step;
    bool gave_up; /* some step: those behind it, launched before that was known, have to be, too */
    bool failed;  /* set it before stepper_give_up: this rank cannot go on */
    bool save;    /* set it before a step's first micro-batch: a checkpoint is due behind it */
    float loss_scale; /* behind the last step that was told of; 1 where there is none */
    int good_steps;   /* since it last changed */
    int bad_steps;    /* in a row, at a loss scale that did not come down */
    bool was_finite;  /* some step */
    bool penalty;    /* set it before stepper_finish where the outcome of that step is to tell it */
    uint64_t ticket; /* of the bucket started last */

    struct device_stepper *device; /* owned; takes the steps where the backend is a device */
};

struct step_outcome {
    bool known;     /* false: the rest says nothing, the step is still under way */
    double loss;    /* mean over all samples of the step */
    double penalty; /* what the optimizer added to it, if that was wanted (stepper.penalty) */
    bool applied;   /* it counts: nobody gave it up */
    bool skipped;   /* it counts, but was not finite or empty, and taught nothing */
    bool empty;     /* no rank had a sample of weight: there is no loss */
    bool stop;      /* some rank was asked to stop */
    bool save;      /* some rank finds a checkpoint due */
    bool failed;    /* some rank cannot go on */
};

struct stepper_options {
    int accumulate;
    struct sgd_step sgd;
    bool decay_all;
    struct device_sum *device_sum; /* comm/device_sum.h; borrowed, NULL where the host sums */
    bool check_operators;
    float loss_scale; /* that the backend was opened with; 0: 1 */
};
/* NET must have its training pass. */
int stepper_open(struct stepper *s, struct network *net, struct comm *comm,
                 const struct stepper_options *options, struct error *err);
void stepper_done(struct stepper *s);

/* Forward and backward of one micro-batch, 0 .. accumulate - 1; the last one starts the sums. On a
 * device BATCH lies in its host_alloc memory and stays as it is until the next call for a
 * micro-batch has returned. */
int stepper_micro(struct stepper *s, const struct batch *batch, struct error *err);
/* In place of the micro-batches that are still missing: the step is given up. */
int stepper_give_up(struct stepper *s, struct error *err);
/* Takes the step at RATE and tells its outcome. A device is left to work on it: then the outcome is
 * that of the step before, which is known, or of none. All ranks hear of a step at the same time.
 */
int stepper_finish(struct stepper *s, double rate, struct step_outcome *ret, struct error *err);

/* Steps that were taken and whose outcome is not known: 0 or 1. */
int stepper_pending(const struct stepper *s);
/* Waits for that one. */
int stepper_settle(struct stepper *s, struct step_outcome *ret, struct error *err);

/* Whether weight decay applies to SLOT. */
bool stepper_decays(const struct stepper *s, const struct store_slot *slot);
/* The FLAGS that this rank knows before a step is computed; the others become 0. */
void stepper_say(const struct stepper *s, float flags[STORE_FLAGS]);
/* What the FLAGS that came back with the sums, and what the update left behind, say of a step taken
 * at RATE. One bad step too many is an error (EXIT_CODE_CONFIG). In order of the steps. */
int stepper_outcome(struct stepper *s, const float *flags, const struct backend_sgd_state *state,
                    double rate, struct step_outcome *ret, struct error *err);
/* Goes on with the loss scale of a run that was interrupted. */
int stepper_resume_scale(struct stepper *s, float loss_scale, int good_steps, struct error *err);

/* Half the decay times the squares of what it applies to: what the optimizer adds to the loss. */
int stepper_penalty(struct stepper *s, double *ret, struct error *err);

#endif
