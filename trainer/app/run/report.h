/* Progress reports of a training, on rank 0: a table for people and metric lines for scrapers on
 * standard output, TensorBoard events, and on a terminal a status line on standard error. On other
 * ranks the report is silent. */
#ifndef TRAINER_APP_RUN_REPORT_H
#define TRAINER_APP_RUN_REPORT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/board/board.h"
#include "trainer/app/run/eval_table.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/app/task/task.h"
#include "trainer/models/model.h"
#include "trainer/telemetry/speed.h"
#include "trainer/telemetry/status_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report {
    FILE *out; /* borrowed; NULL: silent */
    struct eval_table evaluations;
    bool table;
    bool metrics;
    bool on_terminal; /* `out` is one */
    bool headed;      /* the table's head has been printed; */
    size_t since;     /* lines since then, and it; */
    size_t columns;   /* of the task, that it names */
    struct board board;
    struct speed speed;
    const struct model *model; /* borrowed: names the metrics */
    int metric_count;          /* of steps: the first of the model's list */
    const char *dropped;       /* metric of objects beyond the limits; NULL: the task has none */
    double sums[MODEL_METRICS_MAX];    /* sums over the steps since the last row that had a finite
                                        * value */
    int64_t finite[MODEL_METRICS_MAX]; /* number of those steps */
    int64_t steps;                     /* all steps since the last row */
    int64_t skipped;                   /* steps that were skipped */
    struct status_line line;
    struct status_training standing; /* contents of the status line */
    int64_t stepped_at;              /* clock_now() of the last step */
    int64_t opened_at;               /* clock_now() */
    struct {
        int64_t steps, images, nanoseconds; /* of training alone, without evaluations */
        int64_t data, ranks;                /* of these: waiting for data, for other ranks */
        int64_t parts[EPOCH_PARTS];         /* beside training */
    } all;
    bool several;       /* ranks; set it after report_open */
    bool ranks_unknown; /* a device waits for other ranks by itself */
};

/* LOG is enum option_log. OUT NULL: silent. Its board is closed: open it afterwards. The report
 * must not move until report_done. */
void report_open(struct report *r, FILE *out, int log, const struct model *model);
void report_done(struct report *r);

/* Call when training begins, or continues after something else: starts the clock for the speed. */
void report_start(struct report *r);
/* Adds a step: its METRICS (step_outcome), its images over all ranks, and whether it was skipped.
 * Values that are not finite are left out of the mean unless there are no others. */
void report_step(struct report *r, const double metrics[MODEL_METRICS_MAX], int64_t images,
                 bool skipped);
/* Describes how long all steps took, their mean speed, and what share of them was spent waiting for
 * other ranks, as text; "" if there were none. */
enum { REPORT_SUMMARY_MAX = 256 };
void report_summary(const struct report *r, char text[REPORT_SUMMARY_MAX]);
/* Updates the status line. */
void report_standing(struct report *r, int64_t step, int64_t steps, double epoch);
/* Adds time, in nanoseconds, of a step that was spent waiting for DATA and for other RANKS; -1: not
 * known. */
void report_wait(struct report *r, int64_t data, int64_t ranks);
/* Adds time that was not spent on training. */
void report_spent(struct report *r, enum epoch_part part, int64_t nanoseconds);
/* Adds a complete checkpoint of STEP to the record (telemetry/run_log.h): nanoseconds that steps
 * stood still for it, and that its write took. */
void report_checkpoint(int64_t step, int64_t pause, int64_t took);

/* How long the process has run, and where its time went, in seconds, for the record. */
enum { REPORT_TIMES = 6 };
void report_times(const struct report *r, struct metric_field ret[REPORT_TIMES]);

/* Position of the run, for a row. */
struct report_row {
    int64_t step;
    double epoch;
    double penalty; /* of weight decay: its term in the objective */
    double lr;
    struct sample_counts samples; /* of the training; those dropped, since the last row */
};
/* Prints one row over the steps since the last one; nothing if there were none. */
int report_row(struct report *r, const struct report_row *row, struct error *err);
/* Prints TEXT, whole lines for people, unless there are only metric lines. */
int report_print(struct report *r, const char *text, struct error *err);

/* The weights that an evaluation scored. */
struct report_weights {
    int64_t step; /* 0: unknown */
    double epoch;
    int64_t saved_at; /* clock_wall() of their checkpoint; 0: unknown */
};
int report_evaluation(struct report *r, const struct report_weights *of, const struct evaluation *e,
                      struct error *err);

/* Prints how long the epoch took that is over, EPOCH counted from 1, and where its time went;
 * nothing if the run did not see its beginning. */
int report_epoch(struct report *r, int64_t epoch, struct error *err);
/* Prints the table of all evaluations, if there were some. */
int report_evaluations(struct report *r, struct error *err);

/* Each line of NOTES, which a library has left, as a warning; NOTES is used up. */
void report_notes(struct buf *notes);

#endif
