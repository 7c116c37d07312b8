/* Where parameters come from: a checkpoint, a file of weights, or the seed. Rank 0 reads, the
 * others get what it has. */
#ifndef APP_START_H
#define APP_START_H

#include "app/job.h"
#include "common/error.h"

/* Fills store and position of JOB, whose state describes the new run at its beginning, and brings
 * all ranks to it. */
int start_job(struct job *job, struct error *err);

#endif
