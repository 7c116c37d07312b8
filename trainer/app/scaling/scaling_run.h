/* Measurements of a scaling study: the job at each size, one after another, on the first slots
 * (slots.h). On rank 0. */
#ifndef TRAINER_APP_SCALING_SCALING_RUN_H
#define TRAINER_APP_SCALING_SCALING_RUN_H

#include "common/error.h"
#include "common/scaling/scaling.h"
#include "common/slots/slots.h"
#include "trainer/app/scaling/scaling_job.h"

#include <stdbool.h>
#include <stddef.h>

enum { SCALING_REDUCES_MAX = 8 * SCALING_POINTS_MAX };

struct scaling_run {
    struct slots *slots; /* borrowed, and so are these */
    const struct scaling_job *job;
    const char *folder;          /* of a size's files: FOLDER/ranks-N, of several strategies
                                  * FOLDER/STRATEGY/ranks-N */
    double limit;                /* seconds for a size */
    bool comm;                   /* all-reduces are measured, too */
    int sharers;                 /* ranks of all that have the same cores */
    struct scaling_study *study; /* the first of a chain, one a strategy */
    struct scaling_reduce reduces[SCALING_REDUCES_MAX];
    size_t reduce_count;
    bool on_gpu;
};

/* Adds a point to each study for each of SIZES, ascending: strategies of one size follow each
 * other. A size that fails is a point that says so. Returns -1 with EXIT_CODE_STOPPED if a rank was
 * asked to stop; what was measured is in the study then. */
int scaling_run_all(struct scaling_run *r, const int *sizes, size_t count, struct error *err);

#endif
