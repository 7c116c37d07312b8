/* The way of a batch onto a device: from the loader's pinned memory into a staging buffer, on the
 * copy lane, while the step before still computes; from there, in front of the step, into the
 * program's inputs, on the main lane. So a recorded step reads from the same addresses always, and
 * staging is free again as soon as its step begins.
 *
 * The second copy moves what a step reads of the picture once more within the device, 0.15 MB an
 * image of the hundreds of MB that the step moves; the other way, one recording for each of two
 * input buffers, would double bound steps and recordings instead. */
#ifndef TRAINER_APP_STEP_INPUT_STAGING_H
#define TRAINER_APP_STEP_INPUT_STAGING_H

#include "trainer/app/step/network.h"

struct input_staging {
    struct backend *backend; /* borrowed */
    int first_mark;          /* of two that are the feed's */
    size_t bytes;            /* for the largest input of the passes that train */
    char *staging;           /* device memory; NULL on a device without lanes */
};

int input_staging_open(struct input_staging *f, struct network *net, int first_mark,
                       struct error *err);
void input_staging_done(struct input_staging *f);

/* The batch becomes the input of what is enqueued next of PASS on the main lane. BATCH lies in
 * host_alloc memory and stays unchanged until the next put has returned, or all lanes have run dry.
 */
int input_staging_put(struct input_staging *f, const struct pass *pass, const struct batch *batch,
                      struct error *err);
/* All zero, in place of a batch. */
int input_staging_clear(struct input_staging *f, const struct pass *pass, struct error *err);

#endif
