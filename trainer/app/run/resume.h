/* Where parameters come from: a checkpoint, a file of weights, or the seed. Rank 0 reads, the
 * others get what it has. */
#ifndef TRAINER_APP_RUN_RESUME_H
#define TRAINER_APP_RUN_RESUME_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

/* Fills store and position of JOB, whose state describes the new run at its beginning, and brings
 * all ranks to it. */
int resume_job(struct training_run *job, struct error *err);

/* Whether a run may go on from a checkpoint: the same network and classes, and no settings but
 * those that it is free to change. BEFORE, parsed from TEXT, is the state in the checkpoint PATH.
 * Another network, or other classes, are EXIT_CODE_DATA. Other settings are EXIT_CODE_CONFIG where
 * they change what is learnt (SETTING_RECIPE) and were not ASKED for by naming the checkpoint, and
 * where nothing is left to train, so that they would have no effect. What may differ is warned of.
 */
int resume_check_fit(const struct training_run *job, const struct run_state *before,
                     const char *text, const char *path, bool asked, struct error *err);

#endif
