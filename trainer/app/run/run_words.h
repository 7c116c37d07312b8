/* First and last log lines of a training, on rank 0.
 *
 * The first ones have the program, the size of the work and the learning rate; the last ones the
 * speed, the faults of the data, the best model and suggested next commands. */
#ifndef TRAINER_APP_RUN_RUN_WORDS_H
#define TRAINER_APP_RUN_RUN_WORDS_H

#include "trainer/app/run/training_run.h"

/* Logs the settings of the run before the slow work begins: compiling the network, tuning, the
 * first step. */
int run_words_announce(const struct run_setup *setup, int64_t global_batch, struct error *err);
/* For a run that stopped on request. */
void run_words_stop(const struct training_run *job);
/* For a run that is complete. */
void run_words_end(struct training_run *job);

#endif
