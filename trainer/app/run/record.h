/* What a training leaves of itself beside its model, on rank 0: what was asked for, at its
 * beginning, and how it ended (telemetry/run_log.h). */
#ifndef TRAINER_APP_RUN_RECORD_H
#define TRAINER_APP_RUN_RECORD_H

#include "trainer/app/run/training_run.h"

int record_begin(const struct training_run *job, struct error *err);
/* CODE is what the process leaves with. */
void record_end(const struct training_run *job, enum exit_code code);

#endif
