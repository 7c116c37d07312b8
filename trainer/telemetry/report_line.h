/* Lines of a report, printed by rank 0: the table for people, and metric lines for scrapers
 * (common/text/metric_line.h).
 *
 *       Step  Epoch  img/s   Loss FinLoss       LR Top-1 %
 *         20   1.25  812.5 2.3026  2.3526 0.100000   12.50
 *
 * Loss is the mean cross-entropy since the last row; FinLoss adds the weight decay term and is the
 * objective that the optimizer minimizes. Epoch is fractional. What follows LR is the task's
 * choice: the accuracy on the training batches, or the losses that a detector's is the sum of.
 *
 *     train step=20 epoch=1.25 loss=2.30259 top1=0.125 lr=0.1 images_per_second=812.5
 *         data_wait=0.015 skipped=0
 *     eval epoch=1 top1=0.9125 top5=1 loss=0.31 images=400 step=20
 *         checkpoint_time=2026-11-27T16:08:15Z
 *     epoch epoch=1 seconds=12.5 images_per_second=640 checkpoint_seconds=0.4 eval_seconds=2.1
 *
 * Further metrics of a network's steps or evaluations follow these. With several ranks data_wait=
 * is followed by comm_wait=, what they did not hide of their communication. bad_files= and
 * damaged_files= are appended once there is such a file. The time of the checkpoint that was
 * evaluated is in UTC. */
#ifndef TRAINER_TELEMETRY_REPORT_LINE_H
#define TRAINER_TELEMETRY_REPORT_LINE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/text/metric_line.h"
#include "trainer/telemetry/speed.h"

#include <stdbool.h>
#include <stdint.h>

/* Files of a set that could not be used, and that were damaged but decoded, so far. */
struct file_faults {
    int64_t bad;
    int64_t damaged;
};

struct table_row {
    int64_t step;
    double epoch;
    double speed; /* images a second, all ranks */
    double loss;
    double final_loss;
    double lr;
    double data_wait;          /* share of the time that rank 0 waited for data; not in the table */
    int64_t skipped;           /* steps since the last row that were skipped; not in the table */
    struct file_faults faults; /* not in the table */
    const struct metric_field *more; /* borrowed: further metrics of the steps; NULL: none */
    size_t more_count;
    const struct metric_column *columns; /* borrowed: those of `more` that are in the table */
    size_t column_count;
    bool several;     /* ranks, and it is known how long they waited */
    double comm_wait; /* share of the time that rank 0 waited for other ranks; not in the table */
};

struct eval_figures {
    int64_t step; /* 0: unknown, and left out */
    double epoch;
    const struct metric_field *list; /* borrowed */
    size_t count;
    int64_t images;
    struct file_faults faults;
    int64_t saved_at; /* clock_wall() of the checkpoint; 0: unknown, and left out */
};

/* Returns how many of COLUMNS, from the first on, fit into lines of WIDTH characters; COLUMNS NULL:
 * 0. */
size_t report_line_fitting(const struct metric_column *columns, size_t width);

/* Each appends one line without its end. */
int report_line_header(struct buf *out, const struct metric_column *columns, size_t count,
                       struct error *err);
int report_line_row(struct buf *out, const struct table_row *row, struct error *err);
int report_line_train(struct buf *out, const struct table_row *row, struct error *err);
int report_line_eval(struct buf *out, const struct eval_figures *figures, struct error *err);
/* The figures of that line, for other places. */
enum { REPORT_LINE_EPOCH_FIELDS = 5 };
void report_line_epoch_fields(int64_t epoch, const struct epoch_summary *times,
                              struct metric_field ret[REPORT_LINE_EPOCH_FIELDS]);
int report_line_epoch(struct buf *out, int64_t epoch, const struct epoch_summary *times,
                      struct error *err);

#endif
