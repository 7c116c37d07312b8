/* Writer of checkpoints and models; only rank 0 writes. */
#ifndef TRAINER_APP_RUN_SAVE_H
#define TRAINER_APP_RUN_SAVE_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

/* Checks, before the work begins, that the outputs are writable and that no other job writes
 * there. Holds the locks from then on. */
int save_check(struct training_run *job, struct error *err);
/* Collective, with no step under way. Saves a checkpoint of the present step unless it is saved
 * already. At the end of an epoch the running statistics become their mean over ranks. */
int save_checkpoint(struct training_run *job, struct error *err);
/* Writes model.safetensors and config.json to --model-dir; does nothing on other ranks. */
int save_model(struct training_run *job, struct error *err);
/* Writes the same to FOLDER with its score; rank 0 only. *RET_FINITE: true if it was saved,
 * because all of its weights are finite. */
int save_scored(struct training_run *job, const char *folder, const struct model_score *score,
                bool *ret_finite, struct error *err);

#endif
