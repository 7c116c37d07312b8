/* The command line of a trial: `ringtrain train` with the settings of a configuration. */
#ifndef TRAINER_APP_TRIALS_TRIALS_JOB_H
#define TRAINER_APP_TRIALS_TRIALS_JOB_H

#include "common/argv.h"
#include "common/error.h"
#include "common/trials/trials_state.h"

/* Checks the flags of all configurations as `ringtrain train` does. Flags that a trial sets itself
 * are errors. EXIT_CODE_CONFIG. */
int trials_job_check(const struct trials_plan *plan, struct error *err);

/* Fills RET for trial N, which writes to FOLDER. THREADS a rank, unless the plan says how many. */
int trials_job_argv(const struct trials_plan *plan, const struct trials_number *n,
                    const char *folder, int threads, struct argv *ret, struct error *err);

/* The same for a training of configuration CONFIG as a recipe would have it. */
int trials_job_train(const struct trials_plan *plan, size_t config, struct argv *ret,
                     struct error *err);

#endif
