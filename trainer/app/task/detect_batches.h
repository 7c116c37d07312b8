/* Batches of a detector's data sets: canvases, pictures per batch, and the limits of objects and
 * masks per picture. */
#ifndef TRAINER_APP_TASK_DETECT_BATCHES_H
#define TRAINER_APP_TASK_DETECT_BATCHES_H

#include "common/error.h"
#include "trainer/app/task/task.h"

struct detect_part; /* detect_sets.h */

/* Warns of objects that training ignores because pictures have more than --gt-slots. */
void detect_batches_note_slots(const struct detect_part *part, const struct task_request *request);
/* Tells of pictures that are scaled before they reach the network. */
void detect_batches_note_scaled(const struct detect_part *part, const struct task_request *request);
/* Collective. Prepares the sets of DATA, a struct detect_data, which are open and settled. */
int detect_batches_make(struct task_data *data, const struct task_request *request,
                        struct error *err);

#endif
