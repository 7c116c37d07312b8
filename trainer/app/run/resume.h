/* Initial state of a run: from a checkpoint, a file of weights, or the seed. Rank 0 reads and
 * broadcasts. */
#ifndef TRAINER_APP_RUN_RESUME_H
#define TRAINER_APP_RUN_RESUME_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

/* Collective. Fills the store and position of JOB, the same on all ranks. JOB's state must
 * describe the new run at its beginning. */
int resume_job(struct training_run *job, struct error *err);

#endif
