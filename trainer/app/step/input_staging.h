/* Double-buffered input of a device.
 *
 * A batch is copied from the loader's pinned memory to a staging buffer on the copy stream, while
 * the previous step computes. At the start of its own step it is copied from there to the
 * program's inputs on the main stream. A recorded step thus always reads the same addresses, and
 * the staging buffer is free again as soon as the step begins.
 *
 * The second copy costs 0.15 MB an image within the device, of hundreds of MB that the step moves.
 * The alternative, one recording for each of two input buffers, would double the bound steps and
 * recordings. */
#ifndef TRAINER_APP_STEP_INPUT_STAGING_H
#define TRAINER_APP_STEP_INPUT_STAGING_H

#include "trainer/app/step/network.h"

struct input_staging {
    struct backend *backend; /* borrowed */
    int first_event;         /* first of the two events that belong to the staging */
    size_t bytes;            /* size of the largest input of the training passes */
    char *staging;           /* device memory; NULL on a device without streams */
};

int input_staging_open(struct input_staging *f, struct network *net, int first_event,
                       struct error *err);
void input_staging_done(struct input_staging *f);

/* Makes BATCH the input of what is next enqueued of PASS on the main stream. BATCH must lie in
 * host_alloc memory and stay unchanged until the next call has returned, or all streams are
 * idle. */
int input_staging_put(struct input_staging *f, const struct pass *pass, const struct batch *batch,
                      struct error *err);
/* Sets the input to zero instead. */
int input_staging_clear(struct input_staging *f, const struct pass *pass, struct error *err);

#endif
