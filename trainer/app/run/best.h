/* Keeper of the best model of a training. Rank 0 does the work; on other ranks the functions do
 * nothing. */
#ifndef TRAINER_APP_RUN_BEST_H
#define TRAINER_APP_RUN_BEST_H

#include "trainer/app/run/training_run.h"

/* Call after evaluation E of the present model: saves the model if it is the best so far. */
int best_take(struct training_run *job, const struct evaluation *e, struct error *err);
/* Call at the end: copies the best model to --model-dir if --publish best asks for it. */
int best_publish(struct training_run *job, struct error *err);
/* Logs which evaluation was the best. */
void best_log(const struct training_run *job);

#endif
