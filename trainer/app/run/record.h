/* Record of a training beside its model, on rank 0. It has the flags at the beginning and the
 * outcome at the end (telemetry/run_log.h). The last lines of the log are made here as well. */
#ifndef TRAINER_APP_RUN_RECORD_H
#define TRAINER_APP_RUN_RECORD_H

#include "common/error.h"
#include "trainer/app/run/report.h"
#include "trainer/app/run/run_setup.h"
#include "trainer/app/run/training_run.h"

#include <stdint.h>

/* Opens the record, of which run.jsonl has a line of kind run. */
int record_begin(const struct run_setup *setup, const struct run_state *state, struct error *err);
/* Adds the flags, and as settings those that change what is learned, to REPORT's TensorBoard
 * events, at STEP. */
int record_flags(const struct run_setup *setup, int64_t step, struct report *report,
                 struct error *err);
/* The step that training continues from, when that is known, and what a step sums over the ranks.
 */
void record_start(const struct training_run *job);
/* Results of an evaluation by class: MEMBERS as evaluate_options.classes has them. */
void record_classes(const struct run_setup *setup, const struct run_state *state,
                    const struct buf *members);
/* CODE is the exit code of the process, WHY the error that it ends with, or NULL. */
void record_end(const struct training_run *job, enum exit_code code, const struct error *why);

/* The last lines of the log: the speed, the best model, and what to do next. For a run that stopped
 * on request. */
void record_log_stop(const struct training_run *job);
/* The same for a run that is complete, with the faults of its data. */
void record_log_end(struct training_run *job);

#endif
