/* Keeps the model of the best evaluation of a training. By rank 0 alone; on others nothing
 * happens. */
#ifndef TRAINER_APP_RUN_BEST_H
#define TRAINER_APP_RUN_BEST_H

#include "trainer/app/run/training_run.h"

/* After the evaluation E of the model as it is now: keeps it where it is the best so far. */
int best_take(struct training_run *job, const struct evaluation *e, struct error *err);
/* At the end: the best one goes to --model-dir, if that was asked for. */
int best_publish(struct training_run *job, struct error *err);
/* Which one it was, in the log. */
void best_tell(const struct training_run *job);

#endif
