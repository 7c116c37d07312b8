/* The job of a scaling study: the flags of `ringtrain train`, and what a measurement adds. */
#ifndef TRAINER_APP_SCALING_SCALING_JOB_H
#define TRAINER_APP_SCALING_SCALING_JOB_H

#include "common/argv.h"
#include "common/error.h"
#include "common/scaling/scaling_variants.h"

#include <stdbool.h>

/* Rows of a measurement: the first is warm-up. */
enum { SCALING_JOB_ROWS = 6 };

struct scaling_job {
    char *const *flags; /* NULL-terminated; borrowed */
    int count;
    int steps;   /* of each size; a multiple of SCALING_JOB_ROWS */
    int threads; /* compute threads of a rank, at all sizes */
};

/* Checks the flags as `ringtrain train` does, before anything runs. Flags that the measurement sets
 * itself are errors. */
int scaling_job_check(const struct scaling_job *job, struct error *err);

/* Compute threads of a rank: those that the flags give, else those of JOB. */
int scaling_job_threads(const struct scaling_job *job);

/* Fills RET, which is empty, from TEXT of --strategies, as in "allreduce,sharded". Returns -1 with
 * EXIT_CODE_USAGE. */
int scaling_job_strategies(const struct scaling_job *job, const char *text,
                           struct scaling_names *ret, struct error *err);

/* Fills RET with the command line of a size with STRATEGY ("": that of the flags) that writes to
 * FOLDER. */
int scaling_job_argv(const struct scaling_job *job, const char *strategy, const char *folder,
                     struct argv *ret, struct error *err);

/* For people: the flags in one line, cut at SIZE. */
void scaling_job_text(const struct scaling_job *job, char *ret, size_t size);

#endif
