/* What a run leaves behind; rank 0 alone writes. */
#ifndef TRAINER_APP_RUN_SAVE_H
#define TRAINER_APP_RUN_SAVE_H

#include "common/error.h"
#include "trainer/app/run/training_run.h"

/* Whether what is to be saved later can be written, and by this job alone: asked before the work
 * begins. */
int save_check(struct training_run *job, struct error *err);
/* All ranks together, with no step under way: saves a checkpoint of the present step, unless that
 * was the last thing done. At the end of an epoch running statistics become their mean. */
int save_checkpoint(struct training_run *job, struct error *err);
/* model.safetensors and config.json in --model-dir; on other ranks nothing. */
int save_model(struct training_run *job, struct error *err);
/* The same in FOLDER, with what it is worth; by rank 0 alone. *RET_FINITE: it was saved, since all
 * of its weights are numbers. */
int save_scored(struct training_run *job, const char *folder, const struct model_score *score,
                bool *ret_finite, struct error *err);

#endif
