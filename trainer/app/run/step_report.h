/* Reports of one step: what the log, the metrics, the status line and the supervisor learn of it.
 *
 * Each function takes the step's result as a value, and the parts of the run that it reads or
 * writes: neither the steps nor what is saved. */
#ifndef TRAINER_APP_RUN_STEP_REPORT_H
#define TRAINER_APP_RUN_STEP_REPORT_H

#include "common/error.h"
#include "trainer/app/run/run_reports.h"
#include "trainer/app/run/run_setup.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/run/run_steps.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns true if STEP has a row. The first two always have one: they show what starting costs, and
 * that it works. */
bool step_report_is_due(const struct run_setup *setup, int64_t step);

/* Collective, so that all ranks count the same faults of the data. STATE is the run's after the
 * step, which counts. *RET_EXCESS: all ranks found more bad files than allowed, code 0 if not; the
 * step still counts. */
int step_report(struct run_reports *reports, struct run_setup *setup, const struct run_state *state,
                const struct step_result *result, struct error *ret_excess, struct error *err);

/* Records how much of a step that took OWN nanoseconds, waiting for other ranks apart, was this
 * rank's own work, to find stragglers: of a device only the wait for data is known. */
void step_report_work(struct run_reports *reports, const struct run_setup *setup,
                      const struct step_result *result, int64_t own);

/* Logs, after the first step, what starting took, and when to expect the first row if that will
 * take long. */
void step_report_first(struct run_reports *reports, const struct run_setup *setup,
                       const struct run_state *state);

/* Shows on the status line where the run stands. */
void step_report_standing(struct run_reports *reports, const struct run_setup *setup,
                          const struct run_state *state);

#endif
