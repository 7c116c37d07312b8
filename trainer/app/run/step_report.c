#include "trainer/app/run/step_report.h"

#include "common/clock.h"
#include "common/log/log.h"

#include <inttypes.h>

/* Seconds until the next mark of progress is due. */
enum { STEP_PATIENCE = 600 };

/* A first report that is further away than this is announced. */
enum { PACE_SECONDS = 10 };

/* Steps that are reported whatever --report-every says. */
enum { FIRST_REPORTS = 2 };

bool step_report_is_due(const struct run_setup *setup, int64_t step) {
    return step <= FIRST_REPORTS || step % setup->options->report_every == 0 ||
           step == setup->schedule.total_steps;
}

void step_report_standing(struct run_reports *reports, const struct run_setup *setup,
                          const struct run_state *state) {
    report_standing(&reports->report, state->step, setup->schedule.total_steps,
                    run_setup_epoch(setup, state));
}

/* If the first report will take long, logs when to expect it. */
static void log_pace(const struct run_setup *setup, const struct run_state *state, double seconds) {
    int64_t every = setup->options->report_every;
    int64_t left = setup->schedule.total_steps - state->step;
    int64_t until = every - state->step % every < left ? every - state->step % every : left;
    char report[32];
    char all[32];
    if (!setup->first || (double)until * seconds < PACE_SECONDS)
        return;
    status_duration(report, sizeof(report), (double)until * seconds);
    status_duration(all, sizeof(all), (double)left * seconds);
    log_info("the first step took %.1f s: at that speed the report of step %" PRId64
             " comes in %s, and the last step, %" PRId64 ", ends in %s",
             seconds, state->step + until, report, state->step + left, all);
}

void step_report_first(struct run_reports *reports, const struct run_setup *setup,
                       const struct run_state *state) {
    char text[START_TIMES_TEXT];
    start_times_mark(&reports->start, START_STEP, clock_now());
    start_times_text(&reports->start, text);
    if (setup->first)
        log_info("%s", text);
    log_pace(setup, state, reports->report.standing.step_seconds);
}

void step_report_work(struct run_reports *reports, const struct run_setup *setup,
                      const struct step_result *result, int64_t own) {
    bool device = setup->backend->table->device != NULL;
    report_wait(&reports->report, result->data_waited, result->ranks_waited);
    progress_work(&reports->progress,
                  (uint64_t)(device ? result->data_waited : own - result->ranks_waited),
                  (uint64_t)result->data_waited);
}

/* Collective, unless ranks are apart. Counts the faults of all ranks' data, then prints the row. */
static int add_row(struct report *report, struct run_setup *setup, const struct run_state *state,
                   double penalty, struct error *ret_excess, struct error *err) {
    struct report_row row = {
        .step = state->step,
        .epoch = run_setup_epoch(setup, state),
        .penalty = penalty,
        .lr = schedule_rate(&setup->schedule, state->step - 1),
    };
    struct error excess = {0};
    if (sample_health_share(setup->apart != NULL ? setup->apart : setup->comm,
                            &setup->data.training, setup->data.bad_allowed, &row.samples,
                            &excess) != 0) {
        if (excess.code != EXIT_CODE_DATA) {
            *err = excess;
            return -1;
        }
        *ret_excess = excess;
    }
    return report_row(report, &row, err);
}

int step_report(struct run_reports *reports, struct run_setup *setup, const struct run_state *state,
                const struct step_result *result, struct error *ret_excess, struct error *err) {
    const struct step_outcome *outcome = &result->outcome;
    *ret_excess = (struct error){0};
    progress_mark(&reports->progress, (uint64_t)state->step, STEP_PATIENCE);
    report_step(&reports->report, outcome->metrics, state->global_batch, outcome->skipped);
    if (step_report_is_due(setup, state->step) &&
        add_row(&reports->report, setup, state, outcome->penalty, ret_excess, err) != 0)
        return -1;
    step_report_standing(reports, setup, state);
    return 0;
}
