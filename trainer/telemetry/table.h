/* Progress table for people, in fixed columns:
 *
 *         Step  Epoch    Speed    Loss FinLoss        LR
 *           20   1.25    812.5  2.3026  2.3526  0.100000
 *
 * Loss is the mean cross-entropy since the last row; FinLoss adds the weight decay term and is the
 * objective that the optimizer minimizes. Epoch is fractional. */
#ifndef TRAINER_TELEMETRY_TABLE_H
#define TRAINER_TELEMETRY_TABLE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/text/metric_line.h"

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
    const struct metric_field *more; /* borrowed: further metrics of the steps, not in the table;
                                      * NULL: none */
    size_t more_count;
};

/* Appends one line without its end. */
int table_header(struct buf *out, struct error *err);
int table_row(struct buf *out, const struct table_row *row, struct error *err);

#endif
