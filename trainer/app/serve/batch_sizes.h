/* Choice among the batch sizes that a network is compiled for.
 *
 * On a CPU a large batch is not always fast: its activations leave the caches, while a small one of
 * a small network does not repay the cost of its operators. So the sizes are timed once, on blank
 * pictures, in ascending order. */
#ifndef TRAINER_APP_SERVE_BATCH_SIZES_H
#define TRAINER_APP_SERVE_BATCH_SIZES_H

#include "common/error.h"
#include "trainer/app/serve/picture_queue.h"
#include "trainer/app/serve/servable.h"

/* Removes from QUEUE the first size that computes fewer pictures a second than the smaller ones,
 * and all larger ones, and lets SERVABLE drop what it keeps for them. Logs the speeds. A queue that
 * pads keeps its sizes. Takes some runs of each size, and no more than about a second. */
int batch_sizes_choose(const struct servable *servable, struct picture_queue *queue,
                       struct error *err);

#endif
