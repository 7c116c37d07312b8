/* Everything that a training run holds, opened in order and closed in reverse. job_open leaves the
 * parameters unset and `state` at the run's beginning; resume.h brings both to where it goes on. */
#ifndef TRAINER_APP_RUN_TRAINING_RUN_H
#define TRAINER_APP_RUN_TRAINING_RUN_H

#include "common/error.h"
#include "common/progress.h"
#include "trainer/app/device/threads.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/options/options.h"
#include "trainer/app/run/best_score.h"
#include "trainer/app/run/checkpoint_policy.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/run/report.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/step/host_stepper.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/folder_lock.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/loader.h"
#include "trainer/data/dataset/sampler.h"
#include "trainer/optim/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct training_run {
    const struct options *options; /* borrowed */
    struct inputs inputs;
    struct comm *comm; /* borrowed */
    bool first;        /* this is rank 0 */
    struct threads threads;
    struct backend *backend;
    struct task_ask ask;
    struct task_data data; /* after training_run_give_up threads may note faults in it */
    struct sampler sampler;
    struct network net;
    struct device_sum *sums; /* between devices; NULL for one rank, and where the host sums */
    struct stepper stepper;
    struct loader *loader;    /* while it trains */
    const struct batch *held; /* the loader's, which a device may still copy */
    struct schedule schedule;
    int64_t steps_per_epoch;
    struct report report;
    struct eval_artifacts findings; /* of evaluations, on rank 0 */
    struct progress progress;
    int64_t data_waited; /* in this step, ns */
    struct run_state state;
    struct checkpoint_policy keeping;
    struct best best;              /* on rank 0 */
    struct folder_lock lock;       /* of the checkpoints, on rank 0 */
    struct folder_lock model_lock; /* of the model's folder, on rank 0 */
    bool own_statistics;  /* running statistics are this rank's, not yet the mean over ranks */
    bool cannot_go_on;    /* some rank's data ended the run */
    struct error failure; /* why this rank's data ended the run; code 0: it did not */
};

/* COMM is the caller's, so that it can tell the others when this fails. */
int training_run_open(struct training_run *job, const struct options *o, struct comm *comm,
                      struct error *err);
/* Batches of the training set that lie ready, or in work, at once. */
int training_run_ring_depth(const struct options *o);
void training_run_done(struct training_run *job);
/* In place of training_run_done after an error. The thread that speaks to the other ranks may still
 * sit in a sum, so what it works on stays until the process ends, which is at once. */
void training_run_give_up(struct training_run *job);
/* When no step is under way. */
void training_run_stop_loader(struct training_run *job);
/* All ranks together, at the end of a run that went well: after it the job can only be closed. */
int training_run_leave(struct training_run *job, struct error *err);

/* Epochs done, with a fraction. */
double training_run_epoch(const struct training_run *job);

/* Fails with the hosts' names when parameters or momentum are not the same on every rank. */
int training_run_verify(struct training_run *job, struct error *err);
/* store_pull, when a step may be under way whose sums wait for a peer. */
int training_run_pull(struct training_run *job, enum store_arena arena, void **ret,
                      struct error *err);

#endif
