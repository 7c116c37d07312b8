/* Metric lines for scrapers, printed by rank 0 (common/text/metric_line.h):
 *
 *     train step=20 epoch=1.25 loss=2.30259 lr=0.1 images_per_second=812.5 data_wait=0.015
 *         skipped=0
 *     eval epoch=1 top1=0.9125 top5=1 loss=0.31 images=400
 *
 * Further metrics of a network's steps or evaluations follow these. bad_files= and damaged_files=
 * are appended once there is such a file. */
#ifndef TRAINER_TELEMETRY_REPORT_LINE_H
#define TRAINER_TELEMETRY_REPORT_LINE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/telemetry/table.h"

#include <stdint.h>

struct eval_figures {
    double epoch;
    const struct metric_field *list; /* borrowed */
    size_t count;
    int64_t images;
    struct file_faults faults;
};

/* Appends one line without its end. */
int report_line_train(struct buf *out, const struct table_row *row, struct error *err);
int report_line_eval(struct buf *out, const struct eval_figures *figures, struct error *err);

#endif
