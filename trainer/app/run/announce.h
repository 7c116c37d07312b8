/* The first lines of a training: what begins, and what it makes of what was asked for. */
#ifndef RUN_ANNOUNCE_H
#define RUN_ANNOUNCE_H

#include "common/error.h"
#include "run/job.h"

/* Before the work begins that may take a while: compiling the network, tuning, the first step. On
 * rank 0 alone; the others are silent. */
int announce(const struct job *job, struct error *err);

#endif
