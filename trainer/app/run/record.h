/* What a training leaves of itself beside its model, on rank 0: what was asked for, at its
 * beginning, and how it ended (telemetry/run_log.h). */
#ifndef TRAINER_APP_RUN_RECORD_H
#define TRAINER_APP_RUN_RECORD_H

#include "trainer/app/run/job.h"

int record_begin(const struct job *job, struct error *err);
/* CODE is what the process leaves with. */
void record_end(const struct job *job, enum exit_code code);

#endif
