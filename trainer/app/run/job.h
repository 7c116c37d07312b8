/* Everything that a training run holds, opened in order and closed in reverse. job_open leaves the
 * parameters unset and `state` at the run's beginning; start.h brings both to where it goes on. */
#ifndef TRAINER_APP_RUN_JOB_H
#define TRAINER_APP_RUN_JOB_H

#include "common/error.h"
#include "common/progress.h"
#include "trainer/app/device/threads.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/options/options.h"
#include "trainer/app/run/best_score.h"
#include "trainer/app/run/findings.h"
#include "trainer/app/run/keep.h"
#include "trainer/app/run/network.h"
#include "trainer/app/run/report.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/run/stepper.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/folder_lock.h"
#include "trainer/comm/comm.h"
#include "trainer/data/set/loader.h"
#include "trainer/data/set/sampler.h"
#include "trainer/optim/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct job {
    const struct options *options; /* borrowed */
    struct inputs inputs;
    struct comm *comm; /* borrowed */
    bool first;        /* this is rank 0 */
    struct threads threads;
    struct backend *backend;
    struct task_ask ask;
    struct task_data data; /* after job_give_up threads may note faults in it */
    struct sampler sampler;
    struct network net;
    struct device_sum *sums; /* between devices; NULL for one rank, and where the host sums */
    struct stepper stepper;
    struct loader *loader;    /* while it trains */
    const struct batch *held; /* the loader's, which a device may still copy */
    struct schedule schedule;
    int64_t steps_per_epoch;
    struct report report;
    struct findings findings; /* of evaluations, on rank 0 */
    struct progress progress;
    int64_t data_waited; /* in this step, ns */
    struct run_state state;
    struct keeping keeping;
    struct best best;              /* on rank 0 */
    struct folder_lock lock;       /* of the checkpoints, on rank 0 */
    struct folder_lock model_lock; /* of the model's folder, on rank 0 */
    bool own_statistics;  /* running statistics are this rank's, not yet the mean over ranks */
    bool cannot_go_on;    /* some rank's data ended the run */
    struct error failure; /* why this rank's data ended the run; code 0: it did not */
};

/* COMM is the caller's, so that it can tell the others when this fails. */
int job_open(struct job *job, const struct options *o, struct comm *comm, struct error *err);
/* Batches of the training set that lie ready, or in work, at once. */
int job_ring_depth(const struct options *o);
void job_done(struct job *job);
/* In place of job_done after an error. The thread that speaks to the other ranks may still sit in a
 * sum, so what it works on stays until the process ends, which is at once. */
void job_give_up(struct job *job);
/* When no step is under way. */
void job_stop_loader(struct job *job);
/* All ranks together, at the end of a run that went well: after it the job can only be closed. */
int job_leave(struct job *job, struct error *err);

/* Epochs done, with a fraction. */
double job_epoch(const struct job *job);

/* Fails with the hosts' names when parameters or momentum are not the same on every rank. */
int job_verify(struct job *job, struct error *err);
/* store_pull, when a step may be under way whose sums wait for a peer. */
int job_pull(struct job *job, enum store_arena arena, void **ret, struct error *err);

#endif
