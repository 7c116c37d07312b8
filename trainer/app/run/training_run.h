/* A training run: all that it holds, by how long it lives, opened in order and closed in reverse.
 *
 * training_run_open leaves the parameters unset and `state` at the run's beginning; resume.h brings
 * both to where it goes on. */
#ifndef TRAINER_APP_RUN_TRAINING_RUN_H
#define TRAINER_APP_RUN_TRAINING_RUN_H

#include "common/error.h"
#include "common/progress.h"
#include "trainer/app/run/best_score.h"
#include "trainer/app/run/checkpoint_policy.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/run/report.h"
#include "trainer/app/run/run_setup.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/run/run_steps.h"
#include "trainer/checkpoint/folder_lock.h"

/* What the run tells, as it goes. */
struct run_reports {
    struct report report;
    struct eval_artifacts findings; /* of evaluations, on rank 0 */
    struct progress progress;
};

/* What the run keeps in its folders, and when. */
struct run_saves {
    struct checkpoint_policy keeping;
    struct best best;              /* on rank 0 */
    struct folder_lock lock;       /* of the checkpoints, on rank 0 */
    struct folder_lock model_lock; /* of the model's folder, on rank 0 */
};

struct training_run {
    struct run_setup setup; /* from opening to end */
    struct run_steps steps; /* what steps work on */
    struct run_state state; /* what a checkpoint holds of the run */
    struct run_reports reports;
    struct run_saves saves;
};

/* COMM is the caller's, so that it can tell the others when this fails. */
int training_run_open(struct training_run *job, const struct options *o, struct comm *comm,
                      struct error *err);
void training_run_done(struct training_run *job);
/* In place of training_run_done after an error. The thread that speaks to the other ranks may still
 * sit in a sum, so what it works on stays until the process ends, which is at once. */
void training_run_give_up(struct training_run *job);
/* All ranks together, at the end of a run that went well: after it the job can only be closed. */
int training_run_leave(struct training_run *job, struct error *err);

#endif
