/* Semantics of one optimizer step, shared by host and device: options, state, outcome.
 *
 * The order of additions makes ranks and micro-batches interchangeable. Micro-batch gradients are
 * accumulated first to last, ranks are added by the communicator, and the only scaling, by 1 /
 * (ranks * accumulate), is done by the optimizer. So two ranks, and one rank with two
 * micro-batches, do the same f32 operations. With gradients that travel in half precision
 * (reduce_type) they do not; all ranks still have the same bits.
 *
 * A few flags are appended to the last gradient bucket and all-reduced with it: stop requested,
 * the loss, checkpoint due, and step given up, because this rank was asked to stop while it had no
 * data, or because its data failed. If any rank gives a step up, or the loss or a reduced gradient
 * is not finite, the step changes nothing on any rank: neither weights nor momentum nor running
 * statistics. A step that is not finite still counts, as skipped. STEP_BAD_MAX of those in a row
 * are an error, except those that lowered a growing loss scale.
 *
 * What is summed when, and which rank updates what, is the strategy's (strategy_row.h); this is
 * what all of them keep to. */
#ifndef TRAINER_APP_STEP_STEP_H
#define TRAINER_APP_STEP_STEP_H

#include "common/error.h"
#include "trainer/app/step/network.h"
#include "trainer/comm/comm.h"
#include "trainer/optim/optimizer.h"

#include <stdbool.h>
#include <stdint.h>

/* Positions of the flags after the last gradient. From FLAG_MORE on come the model's other metrics
 * of steps, in the order of its list. */
enum step_flag { FLAG_STOP, FLAG_VOID, FLAG_LOSS, FLAG_IMAGES, FLAG_SAVE, FLAG_FAILED, FLAG_MORE };

enum { STEP_BAD_MAX = 20 };

struct device_step; /* device_step.h */
struct timeline;    /* telemetry/timeline.h */
struct device_sum;
struct strategy; /* strategy_row.h */
struct shards;   /* shard/shards.h */
struct ps_async; /* strategy_ps_async.c */

struct stepper;
struct step_outcome;

/* Functions of an implementation of steps, that of a host (host_step.h) or of a device
 * (device_step.h); stepper.h has what they do. */
struct stepper_table {
    int (*open)(struct stepper *s, struct error *err);
    void (*close)(struct stepper *s); /* after a failed open, too */
    /* The pass of the micro-batch is s->pass. */
    int (*take_micro)(struct stepper *s, const struct batch *batch, struct error *err);
    int (*give_step_up)(struct stepper *s, struct error *err);
    int (*finish_step)(struct stepper *s, struct step_outcome *ret, struct error *err);
    /* NULL: no step is under way after finish_step. */
    int (*settle_step)(struct stepper *s, struct step_outcome *ret, struct error *err);
};

struct stepper {
    const struct stepper_table *table;
    struct network *net;
    struct pass *pass; /* of the last micro-batch; of the first canvas before any */
    struct comm *comm;
    int accumulate;
    struct optimizer_rule rule;    /* the learning rate is set in each step */
    unsigned char *group_of;       /* owned; per slot of the store: its group in `rule` */
    bool decay_all;                /* weight decay applies to all parameters; else only to weights
                                    * of two and more dimensions */
    bool decay_biases;             /* also to biases, but not those of norms */
    struct device_sum *device_sum; /* borrowed; NULL: one rank, or all-reduce through host memory */
    enum comm_type reduce_type;    /* of gradients on their way; the flags are f32 */
    bool check_operators;          /* on a device: wait for each operator */

    float *sum;       /* owned; gradients accumulated over the micro-batches so far, NULL with one
                       * micro-batch */
    float *states;    /* owned; running statistics before this step */
    bool states_kept; /* true if states were saved in this step */
    float metrics[MODEL_METRICS_MAX]; /* sums over this rank's micro-batches so far */
    bool last_micro;
    bool void_step;
    bool gave_up;     /* some step was given up: so must be those launched before that was known */
    bool failed;      /* set it before stepper_give_up if this rank cannot continue */
    bool save;        /* set it before a step's first micro-batch if a checkpoint is due after the
                       * step */
    float loss_scale; /* after the last step with a known outcome; 1: no loss scale */
    int good_steps;   /* in a row since the loss scale last changed */
    int64_t updates;  /* that changed weights, of those with a known outcome */
    int bad_steps;    /* in a row, not counting those that lowered the loss scale */
    bool was_finite;  /* some step was finite */
    bool penalty;     /* set it before stepper_finish if that step's outcome shall include the
                       * penalty */
    struct timeline *timeline; /* borrowed; NULL: none */
    int64_t number;            /* of the step, for the timeline */
    int64_t backward_at;       /* its backward pass began then; 0: not yet */
    uint64_t ticket;           /* of what was started last with other ranks */
    int pending;               /* steps with an unknown outcome: 0 or, on a device, 1 */
    int64_t waited; /* waiting for other ranks in the last step beyond its own work, ns; -1: a
                     * device waits by itself */

    const struct strategy *strategy;
    struct shards *shards;  /* owned; NULL: the optimizer is not divided */
    struct comm *all;       /* borrowed; ranks with a share: `comm`, or its ranks and servers */
    bool dealt;             /* servers have what they keep */
    float order;            /* to them, on its way */
    int exit_code;          /* of the run, for them; set it before stepper_done */
    bool gathered;          /* the arenas have state that other ranks own */
    double squares;         /* of all gradients of this step, if they are clipped */
    struct ps_async *async; /* owned; strategy_ps_async.c */
    int staleness;          /* steps of ps-async by which workers may differ */
    int sync_every;         /* steps of local-sgd between two means */
    int apart;              /* steps since the last one */
    float unfit; /* ranks on which gradients are not finite, where those are not summed */

    struct device_step *device; /* owned; takes the steps if the backend is a device */
};

struct step_outcome {
    bool known;  /* false: the step is still under way and the other fields are unset */
    double loss; /* mean over all samples of the step */
    double metrics[MODEL_METRICS_MAX]; /* metrics of steps, over all ranks (models/model.h) */
    double penalty; /* weight decay term of the objective, if requested (stepper.penalty) */
    bool applied;   /* it counts: no rank gave it up */
    bool skipped;   /* it counts, but was not finite or empty and changed nothing */
    bool empty;     /* no rank had a sample with a weight: there is no loss */
    bool stop;      /* some rank was asked to stop */
    bool save;      /* on some rank a checkpoint is due */
    bool failed;    /* some rank cannot continue */
};

/* Returns the position of metric NUMBER of the model's list among the flags; -1: it is not
 * there. */
int step_flag_of(const struct model *model, int number);
/* Returns what the optimizer KIND keeps, and with AVERAGE a moving average of the weights, too
 * (graph/graph.h). */
unsigned step_keeps(enum optimizer_kind kind, bool average);
/* Fills the parameter groups: those with the common learning rate, then those of biases at
 * BIAS_RATE times it, each with and without DECAY. Finds the group of each parameter. */
int step_make_groups(struct stepper *s, float decay, float bias_rate, struct error *err);
/* Returns the gradients; on a host. */
float *step_gradients(const struct stepper *s);
/* Starts the sum over all ranks of COUNT values of GRADIENTS from FIRST on; flags may be among
 * them. Wait with comm_wait. */
int step_sum_start(const struct stepper *s, float *gradients, size_t first, size_t count,
                   uint64_t *ret_ticket, struct error *err);
/* Sets the FLAGS that this rank knows before a step is computed; the others become 0. */
void step_say(const struct stepper *s, float flags[STORE_FLAGS]);
/* Interprets the reduced FLAGS and the result of the update, for a step taken at RATE. Call in the
 * order of the steps. Too many bad steps in a row are an error (EXIT_CODE_CONFIG). */
int step_read_outcome(struct stepper *s, const float *flags,
                      const struct backend_optimizer_state *state, double rate,
                      struct step_outcome *ret, struct error *err);
/* Continues with the loss scale of an interrupted run, and the number of its updates. */
int step_resume(struct stepper *s, float loss_scale, int good_steps, int64_t updates,
                struct error *err);

/* Returns half the sum of squared weights, each times its decay: the term that weight decay adds
 * to the objective. */
int step_penalty(struct stepper *s, double *ret, struct error *err);

#endif
