/* Objects of optimizer steps: the network, its stepper, and the loader that feeds them.
 *
 * A step may be under way on a device when run_steps_take returns (stepper.h). */
#ifndef TRAINER_APP_RUN_RUN_STEPS_H
#define TRAINER_APP_RUN_RUN_STEPS_H

#include "common/error.h"
#include "trainer/app/step/network.h"
#include "trainer/app/step/stepper.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/loader.h"

#include <stdbool.h>
#include <stdint.h>

struct run_steps {
    struct network net;
    struct device_sum *sums; /* between devices; NULL with one rank, and if the host all-reduces */
    struct stepper stepper;
    struct loader *loader;    /* during training */
    const struct batch *held; /* the loader's, which a device may still be copying */
    int64_t data_waited;      /* waiting for data in this step, ns */
    float gradient_scale;     /* loss scale of the gradients of the last step */
    bool own_statistics;      /* running statistics are this rank's, not yet the mean over ranks */
    bool cannot_go_on;        /* some rank's data ended the run */
    struct error failure;     /* why this rank's data ended the run; code 0: it did not */
};

struct step_request {
    int64_t done; /* steps before this one */
    double rate, momentum;
    int64_t number; /* of the step, from 1 */
    bool save;      /* this rank finds that a checkpoint is due after the step */
    bool penalty;   /* its outcome is to tell the penalty */
    bool last;      /* none is to be under way after it */
};

/* A step, or the one before it on a device that works ahead, as the rest of the run needs it. */
struct step_result {
    struct step_outcome outcome; /* as stepper_finish has it */
    int64_t data_waited;         /* waiting for data in the call, ns */
    int64_t ranks_waited;        /* waiting for other ranks; stepper.waited */
    /* Of the next step: */
    float loss_scale; /* of f16's gradients */
    int good_steps;   /* since it changed */
    int64_t updates;  /* that changed weights so far */
};

/* Takes one step over batches of DATA; all ranks together. A rank with unusable data gives
 * the step up on all ranks, and keeps the reason in `failure`. */
int run_steps_take(struct run_steps *s, struct task_data *data, const struct step_request *request,
                   struct step_result *ret, struct error *err);
/* Waits for the step under way on a device, if there is one, and returns its result. */
int run_steps_settle(struct run_steps *s, struct step_result *ret, struct error *err);

/* Call when no step is under way. */
void run_steps_stop_loader(struct run_steps *s);

/* store_pull for the case that the all-reduce of a running step waits for another rank. */
int run_steps_pull(struct run_steps *s, enum store_arena arena, void **ret, struct error *err);
/* The gradients of the last step in RET, in host memory, as sums over ranks and micro-batches: each
 * times *RET_SCALE is the mean. Call when no step is under way. */
int run_steps_gradients(struct run_steps *s, const float **ret, float *ret_scale,
                        struct error *err);
/* Fails with the hosts' names if values that the strategy keeps equal on all ranks, parameters or
 * what the optimizer keeps, differ. */
int run_steps_verify(struct run_steps *s, struct comm *comm, struct error *err);

#endif
