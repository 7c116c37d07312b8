/* State of a training run: all that it holds, by how long it lives, opened in order and closed in
 * reverse.
 *
 * training_run_open leaves the parameters unset and `state` at the run's beginning; resume.h brings
 * both to where it continues. */
#ifndef TRAINER_APP_RUN_TRAINING_RUN_H
#define TRAINER_APP_RUN_TRAINING_RUN_H

#include "common/error.h"
#include "common/file/folder_lock.h"
#include "trainer/app/device/roles.h"
#include "trainer/app/run/best_score.h"
#include "trainer/app/run/checkpoint_policy.h"
#include "trainer/app/run/run_reports.h"
#include "trainer/app/run/run_setup.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/run/run_steps.h"
#include "trainer/app/run/saving.h"

/* What the run keeps in its folders, and when. */
struct run_saves {
    struct checkpoint_policy keeping;
    struct saving saving;          /* on rank 0 */
    int64_t saved_boot;            /* clock_boot() at the step that is being saved */
    int64_t pause;                 /* nanoseconds that steps stood still for it */
    struct best best;              /* on rank 0 */
    struct folder_lock lock;       /* lock of the checkpoint folder, on rank 0 */
    struct folder_lock model_lock; /* lock of the model's folder, on rank 0 */
};

struct training_run {
    struct run_setup setup; /* from opening to end */
    struct run_steps steps; /* what steps work on */
    struct run_state state; /* what a checkpoint holds of the run */
    struct run_reports reports;
    struct run_saves saves;
};

/* ROLES are borrowed, so that the caller can notify the other ranks if this fails. */
int training_run_open(struct training_run *job, const struct options *o, const struct roles *roles,
                      struct error *err);
void training_run_done(struct training_run *job);
/* Call instead of training_run_done after an error. The thread that communicates with other ranks
 * may still be in an all-reduce, so its memory stays until the process ends, which must follow. */
void training_run_give_up(struct training_run *job);
/* Collective, at the end of a successful run: afterwards the job can only be closed. */
int training_run_leave(struct training_run *job, struct error *err);

#endif
