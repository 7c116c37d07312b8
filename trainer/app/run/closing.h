/* What a training says at its end, on rank 0: how fast it was, what was wrong with its data, and
 * what can be done next. */
#ifndef TRAINER_APP_RUN_CLOSING_H
#define TRAINER_APP_RUN_CLOSING_H

#include "trainer/app/run/job.h"

/* It stopped as asked. */
void closing_tell_stop(const struct job *job);
/* All of it is done. */
void closing_sum_up(struct job *job);

#endif
