/* What a training step launches on a described device (device/simulated_gpu.h). */
#ifndef TRAINER_APP_COMMAND_COUNT_LAUNCHES_H
#define TRAINER_APP_COMMAND_COUNT_LAUNCHES_H

#include "common/buf.h"
#include "trainer/app/step/network.h"
#include "trainer/comm/comm.h"

/* Takes steps on CANVAS and appends a table for people: launches by kind of operator, then those of
 * a whole step that is not the first one, with its input, the optimizer and the outcome. The norm
 * of gradients is not clipped. */
int count_launches(struct network *net, int canvas, struct comm *comm, struct buf *out,
                   struct error *err);

#endif
