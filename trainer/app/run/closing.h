/* What a training says at its end, on rank 0: how fast it was, what was wrong with its data, and
 * what can be done next. */
#ifndef TRAINER_APP_RUN_CLOSING_H
#define TRAINER_APP_RUN_CLOSING_H

#include "trainer/app/run/training_run.h"

/* It stopped as asked. */
void closing_tell_stop(const struct training_run *job);
/* All of it is done. */
void closing_sum_up(struct training_run *job);

#endif
