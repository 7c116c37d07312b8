/* What a step is and means, whatever takes it: its switches, its state, its outcome.
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
 * STEP_BAD_MAX of them in a row are an error, those aside that brought a growing loss scale
 * down. */
#ifndef TRAINER_APP_STEP_STEP_H
#define TRAINER_APP_STEP_STEP_H

#include "common/error.h"
#include "trainer/app/step/network.h"
#include "trainer/comm/comm.h"
#include "trainer/optim/sgd.h"

#include <stdbool.h>
#include <stdint.h>

/* Places among the flags behind the last gradient. Behind FLAG_MORE come the model's other metrics
 * of steps, in the order of its list. */
enum step_flag { FLAG_STOP, FLAG_VOID, FLAG_LOSS, FLAG_IMAGES, FLAG_SAVE, FLAG_FAILED, FLAG_MORE };

enum { STEP_BAD_MAX = 20 };

struct device_stepper; /* device_stepper.h */
struct device_sum;

struct stepper {
    struct network *net;
    struct pass *pass; /* that took the last micro-batch; the first one's before */
    struct comm *comm;
    int accumulate;
    struct sgd_rule sgd;           /* the rate is set in each step; groups: step_group */
    bool decay_all;                /* else only weights of two and more dimensions */
    bool decay_biases;             /* those too, but for norms' */
    struct device_sum *device_sum; /* borrowed; NULL: one rank, or through host memory */
    bool check_operators;          /* on a device: wait for each operator */

    float *sum;       /* owned; gradients of the micro-batches so far, NULL with one micro-batch */
    float *states;    /* owned; running statistics as they were before this step */
    bool states_kept; /* in this step */
    float metrics[MODEL_METRICS_MAX]; /* of this rank's micro-batches so far: sums */
    bool last_micro;
    bool void_step;
    bool gave_up; /* some step: those behind it, launched before that was known, have to be, too */
    bool failed;  /* set it before host_stepper_give_up: this rank cannot go on */
    bool save;    /* set it before a step's first micro-batch: a checkpoint is due behind it */
    float loss_scale; /* behind the last step that was told of; 1 where there is none */
    int good_steps;   /* since it last changed */
    int bad_steps;    /* in a row, at a loss scale that did not come down */
    bool was_finite;  /* some step */
    bool penalty; /* set it before host_stepper_finish where the outcome of that step is to tell it
                   */
    uint64_t ticket; /* of the bucket started last */
    int64_t waited;  /* in the last step for other ranks, ns; 0 on a device, whose wait is both */

    struct device_stepper *device; /* owned; takes the steps where the backend is a device */
};

struct step_outcome {
    bool known;  /* false: the rest says nothing, the step is still under way */
    double loss; /* mean over all samples of the step */
    double metrics[MODEL_METRICS_MAX]; /* those of steps, over all ranks (models/model.h) */
    double penalty; /* what the optimizer added to it, if that was wanted (stepper.penalty) */
    bool applied;   /* it counts: nobody gave it up */
    bool skipped;   /* it counts, but was not finite or empty, and taught nothing */
    bool empty;     /* no rank had a sample of weight: there is no loss */
    bool stop;      /* some rank was asked to stop */
    bool save;      /* some rank finds a checkpoint due */
    bool failed;    /* some rank cannot go on */
};

/* Where metric NUMBER of the model's list rides among the flags; -1: it does not. */
int step_flag_of(const struct model *model, int number);
/* Fills the groups: those of the common rate, then those of biases at BIAS_RATE times it, each with
 * DECAY and without. */
void step_make_groups(struct stepper *s, float decay, float bias_rate);
/* The group of SLOT, a trained parameter. */
int step_group(const struct stepper *s, const struct store_slot *slot);
/* The FLAGS that this rank knows before a step is computed; the others become 0. */
void step_say(const struct stepper *s, float flags[STORE_FLAGS]);
/* What the FLAGS that came back with the sums, and what the update left behind, say of a step taken
 * at RATE. One bad step too many is an error (EXIT_CODE_CONFIG). In order of the steps. */
int step_tell(struct stepper *s, const float *flags, const struct backend_sgd_state *state,
              double rate, struct step_outcome *ret, struct error *err);
/* Goes on with the loss scale of a run that was interrupted. */
int step_resume_scale(struct stepper *s, float loss_scale, int good_steps, struct error *err);

/* Half the squares of weights, each times its decay: what the optimizer adds to the loss. */
int step_penalty(struct stepper *s, double *ret, struct error *err);

#endif
