/* What rank 0 tells while it trains: the table for people and the metric lines for scrapers, on
 * standard output, and TensorBoard events; on a terminal a status line below them, on standard
 * error. Other ranks hold a report that says nothing. */
#ifndef TRAINER_APP_RUN_REPORT_H
#define TRAINER_APP_RUN_REPORT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/task/task.h"
#include "trainer/models/model.h"
#include "trainer/telemetry/speed.h"
#include "trainer/telemetry/status_text.h"
#include "trainer/telemetry/tfevents.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report {
    FILE *out; /* borrowed; NULL: silent */
    bool table;
    bool metrics;
    bool header; /* the table's head has been printed */
    struct tfevents events;
    struct speed speed;
    const struct model *model;         /* borrowed: says what there is to tell */
    double sums[MODEL_METRICS_MAX];    /* over the steps since the last row that had a finite one */
    int64_t finite[MODEL_METRICS_MAX]; /* so many */
    int64_t steps;                     /* all since then */
    int64_t skipped;                   /* those that changed nothing */
    struct status_line line;
    struct status_training standing; /* what the line says */
    int64_t stepped_at;              /* clock_now() of the last step */
    int64_t opened_at;               /* clock_now() */
    struct {
        int64_t steps, images, nanoseconds; /* of training alone */
    } all;
};

/* LOG is enum option_log. EVENTS is a folder, "" for none. OUT NULL makes it silent. The report
 * stays where it is until report_done. */
int report_open(struct report *r, FILE *out, int log, const struct model *model, const char *events,
                struct error *err);
void report_done(struct report *r);

/* Of a run that had come to its end at STEP before: an evaluation of STEP that is in the folder
 * EVENTS already is not written there again. */
int report_end_again(struct report *r, const char *events, int64_t step, struct error *err);

/* The next step to come is STEP: what an earlier run has told TensorBoard of it and later ones does
 * not count any more. */
int report_begin(struct report *r, int64_t step, struct error *err);

/* Training begins or goes on after something else: the clock of the speed starts. */
void report_start(struct report *r);
/* A step is done: its METRICS (step_outcome), and images over all ranks; whether it changed
 * nothing. One that is not finite stays out of the mean, unless there is no other. */
void report_step(struct report *r, const double metrics[MODEL_METRICS_MAX], int64_t images,
                 bool skipped);
/* How long all steps took and how fast they were on average, as words; "" if there were none. */
enum { REPORT_SUMMARY_MAX = 256 };
void report_summary(const struct report *r, char text[REPORT_SUMMARY_MAX]);
/* The same for the status line. */
void report_standing(struct report *r, int64_t step, int64_t steps, double epoch);
/* So long nothing was done but to wait for pictures. */
void report_wait(struct report *r, int64_t nanoseconds);

/* Where the run stands, for a row. */
struct report_row {
    int64_t step;
    double epoch;
    double penalty; /* of weight decay: what the optimizer adds to the loss */
    double lr;
    int64_t bad_files;
    int64_t damaged_files;
    int64_t objects_dropped; /* since the last row, where a network finds objects */
};
/* One row over the steps since the last one; nothing if there were none. */
int report_row(struct report *r, const struct report_row *row, struct error *err);
int report_evaluation(struct report *r, int64_t step, double epoch, const struct evaluation *e,
                      struct error *err);

/* Each line of NOTES, which a library has left, as a warning; NOTES is used up. */
void report_notes(struct buf *notes);

#endif
