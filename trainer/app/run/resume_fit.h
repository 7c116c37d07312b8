/* Fit of a checkpoint to the run that would resume from it. Rank 0 asks. */
#ifndef TRAINER_APP_RUN_RESUME_FIT_H
#define TRAINER_APP_RUN_RESUME_FIT_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

#include <stdbool.h>

/* Checks that a run may resume from a checkpoint: the same network and classes, and no change of
 * settings but those that may change. BEFORE, parsed from TEXT, is the state in the checkpoint
 * PATH.
 *
 * Another network or other classes are EXIT_CODE_DATA. Other settings are EXIT_CODE_CONFIG if they
 * change what is learned (SETTING_RECIPE) and the user has not ASKED for them by naming the
 * checkpoint, or if nothing is left to train, so that they would have no effect. Warns of other
 * differences. */
int resume_fit_check(const struct training_run *job, const struct run_state *before,
                     const char *text, const char *path, bool asked, struct error *err);

/* Returns true if this is not the first time that ringmaster launches this run. */
bool resume_fit_is_relaunched(const struct run_state *state);
/* Returns true if an earlier attempt of this run wrote BEFORE. */
bool resume_fit_is_own(const struct run_state *state, const struct run_state *before);

#endif
