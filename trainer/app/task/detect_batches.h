/* How the pictures of a detector's sets become batches: on which canvases they lie, how many a rank
 * takes at once, and how much room a place has. */
#ifndef TRAINER_APP_TASK_DETECT_BATCHES_H
#define TRAINER_APP_TASK_DETECT_BATCHES_H

#include "common/error.h"
#include "trainer/app/task/task.h"

/* For the sets of DATA, a struct detect_data, which are open and settled; all ranks together. */
int detect_batches_make(struct task_data *data, const struct task_ask *ask, struct error *err);

#endif
