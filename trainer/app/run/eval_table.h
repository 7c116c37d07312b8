/* Table of a run's evaluations, for people, printed at its end:
 *
 *         Step  Epoch  Top-1 %  Top-5 %     Loss  Checkpoint (UTC)
 *         1563   1.00    61.42    83.90   1.7031  2026-11-27 16:08:15
 *
 * Which figures are columns is the task's choice. */
#ifndef TRAINER_APP_RUN_EVAL_TABLE_H
#define TRAINER_APP_RUN_EVAL_TABLE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/task/evaluation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVAL_TABLE_ROWS_MAX = 1000 };

struct eval_row {
    int64_t step;
    double epoch;
    double values[EVALUATION_COLUMNS_MAX]; /* NaN: there is no such figure */
    int64_t saved_at;                      /* clock_wall() of the checkpoint; 0: unknown */
};

/* Zeroed, it is empty. */
struct eval_table {
    struct eval_row *rows; /* owned; the last EVAL_TABLE_ROWS_MAX */
    size_t count;
    bool shown[EVALUATION_COLUMNS_MAX]; /* columns that say something in some row */
};

void eval_table_done(struct eval_table *table);

int eval_table_add(struct eval_table *table, const struct metric_column *columns, int64_t step,
                   double epoch, int64_t saved_at, const struct evaluation *e, struct error *err);

/* Appends the table with its head, without columns that say nothing in any row
 * (evaluation_says); nothing if it is empty. */
int eval_table_print(const struct eval_table *table, const struct metric_column *columns,
                     struct buf *out, struct error *err);

#endif
