/* What a run leaves behind; rank 0 alone writes. */
#ifndef RUN_SAVE_H
#define RUN_SAVE_H

#include "common/error.h"
#include "run/job.h"
#include "run/statistics.h"

/* Whether what is to be saved later can be written, and by this job alone: asked before the work
 * begins. */
int save_check(struct job *job, struct error *err);
/* The checkpoint of the present step, with what STATISTICS hold; on other ranks nothing. */
int save_checkpoint(struct job *job, const struct statistics *statistics, struct error *err);
/* model.safetensors and config.json; on other ranks nothing. */
int save_model(struct job *job, struct error *err);

#endif
