/* Kernel launches of a training step on a simulated device (simulated_gpu.h). */
#ifndef TRAINER_APP_PLAN_COUNT_LAUNCHES_H
#define TRAINER_APP_PLAN_COUNT_LAUNCHES_H

#include "common/buf.h"
#include "trainer/app/step/network.h"
#include "trainer/comm/comm.h"

/* Takes steps on CANVAS and appends a table: launches by kind of operator, then those of a whole
 * step after the first, with its input, the optimizer and the outcome. Without gradient
 * clipping. */
int count_launches(struct network *net, int canvas, struct comm *comm, struct buf *out,
                   struct error *err);

#endif
