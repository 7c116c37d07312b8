/* Last log lines of a training, on rank 0: its speed, faults of its data, and suggested next
 * commands. */
#ifndef TRAINER_APP_RUN_CLOSING_H
#define TRAINER_APP_RUN_CLOSING_H

#include "trainer/app/run/training_run.h"

/* For a run that stopped on request. */
void closing_log_stop(const struct training_run *job);
/* For a run that is complete. */
void closing_sum_up(struct training_run *job);

#endif
