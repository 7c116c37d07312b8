/* Where parameters come from: a checkpoint, a file of weights, or the seed. Rank 0 reads, the
 * others get what it has. */
#ifndef RUN_START_H
#define RUN_START_H

#include "common/error.h"
#include "run/job.h"

/* Fills store and position of JOB, whose state describes the new run at its beginning, and brings
 * all ranks to it. */
int start_job(struct job *job, struct error *err);

#endif
