/* Whether a run may go on from a checkpoint: the same network and classes, and no settings but
 * those that it is free to change. */
#ifndef RUN_FIT_H
#define RUN_FIT_H

#include "common/error.h"
#include "run/job.h"
#include "run/run_state.h"

#include <stdbool.h>

/* BEFORE, parsed from TEXT, is the state in the checkpoint PATH. Another network, or other classes,
 * are EXIT_CODE_DATA. Other settings are EXIT_CODE_CONFIG where they change what is learnt
 * (SETTING_RECIPE) and were not ASKED for by naming the checkpoint, and where nothing is left to
 * train, so that they would have no effect. What may differ is warned of. */
int fit_check(const struct job *job, const struct run_state *before, const char *text,
              const char *path, bool asked, struct error *err);

#endif
