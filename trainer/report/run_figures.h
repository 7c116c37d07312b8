/* Figures of one run, from its run.jsonl (docs/reference/run-log.md): how fast it trained, how
 * long ranks waited for each other, and what it reached. Lines that are not as documented are
 * passed over. */
#ifndef TRAINER_REPORT_RUN_FIGURES_H
#define TRAINER_REPORT_RUN_FIGURES_H

#include "common/error.h"

#include <stdbool.h>

/* NaN: not known. */
struct run_figures {
    double ranks, global_batch;
    double images; /* of the training set */
    double epochs; /* --epochs */
    double sums, sum_bytes;
    double step;       /* the last that was reported */
    double rate;       /* images a second of all ranks: the median of the lines after the first */
    double exposed;    /* share of the time of these lines that rank 0 waited for others */
    double first_step; /* when the first step was complete, seconds since 1970 */
    double metric;     /* the last value of the metric that was asked for */
    bool on_gpu;
};

/* Reads FOLDER/run.jsonl. Lines of steps up to FROM_STEP do not count for `rate` and `exposed`.
 * METRIC is the name of a number in lines of kind eval or train, of which the last one counts, an
 * evaluation's if there is one; NULL: none. */
int run_figures_read(struct run_figures *ret, const char *folder, double from_step,
                     const char *metric, struct error *err);

/* Seconds since 1970 of "2026-11-27T16:08:15.042Z"; NaN for anything else. */
double run_figures_time(const char *text);

#endif
