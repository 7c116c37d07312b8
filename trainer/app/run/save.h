/* Writer of checkpoints and models; only rank 0 writes. */
#ifndef TRAINER_APP_RUN_SAVE_H
#define TRAINER_APP_RUN_SAVE_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

/* Checks, before the work begins, that the outputs are writable and that no other job writes
 * there. Holds the locks from then on. */
int save_check(struct training_run *job, struct error *err);
/* Collective, with no step under way. Begins a checkpoint of the present step unless there is one
 * already, and waits for the one before it, if that is still being written. At the end of an epoch
 * the running statistics become their mean over ranks. */
int save_checkpoint(struct training_run *job, struct error *err);
/* The same, and waits until it is on the disk: at the end of a run, and at a stop. */
int save_last(struct training_run *job, struct error *err);
/* Tells that a checkpoint is complete, or fails as its write did; returns at once. */
int save_poll(struct training_run *job, struct error *err);
/* The same, but waits for the checkpoint that is being written. EXIT_CODE_STALLED if the disk does
 * not answer for 20 minutes. */
int save_wait(struct training_run *job, struct error *err);
/* After a failure: gives the checkpoint that is being written half a minute. After that its thread
 * still runs. */
void save_leave(struct training_run *job);
/* Writes model.safetensors and config.json to --model-dir; does nothing on other ranks. */
int save_model(struct training_run *job, struct error *err);
/* Call after evaluation E of the present model: keeps the model with its score if it is the best so
 * far and finite. Does nothing on other ranks. */
int save_best(struct training_run *job, const struct evaluation *e, struct error *err);
/* Call at the end: copies the best model to --model-dir if --publish best asks for it. Does nothing
 * on other ranks. */
int save_publish_best(struct training_run *job, struct error *err);

#endif
