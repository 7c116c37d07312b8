/* Initial state of a run: from a checkpoint, a file of weights, or the seed. Rank 0 reads and
 * broadcasts. */
#ifndef TRAINER_APP_RUN_RESUME_H
#define TRAINER_APP_RUN_RESUME_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

/* Collective. Fills the store and position of JOB, the same on all ranks. JOB's state must
 * describe the new run at its beginning. */
int resume_job(struct training_run *job, struct error *err);

/* Checks that a run may resume from a checkpoint: the same network and classes, and no change of
 * settings but those that may change. BEFORE, parsed from TEXT, is the state in the checkpoint
 * PATH.
 *
 * Another network or other classes are EXIT_CODE_DATA. Other settings are EXIT_CODE_CONFIG if they
 * change what is learned (SETTING_RECIPE) and the user has not ASKED for them by naming the
 * checkpoint, or if nothing is left to train, so that they would have no effect. Warns of other
 * differences. */
int resume_check_fit(const struct training_run *job, const struct run_state *before,
                     const char *text, const char *path, bool asked, struct error *err);

#endif
