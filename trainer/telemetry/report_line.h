/* Metric lines for scrapers, printed by rank 0 (common/text/metric_line.h):
 *
 *     train step=20 epoch=1.25 loss=2.30259 lr=0.1 images_per_second=812.5 data_wait=0.015
 *         skipped=0
 *     eval epoch=1 top1=0.9125 top5=1 loss=0.31 images=400 step=20
 *         checkpoint_time=2026-11-27T16:08:15Z
 *     epoch epoch=1 seconds=12.5 images_per_second=640 checkpoint_seconds=0.4 eval_seconds=2.1
 *
 * Further metrics of a network's steps or evaluations follow these. bad_files= and damaged_files=
 * are appended once there is such a file. The time of the checkpoint that was evaluated is in
 * UTC. */
#ifndef TRAINER_TELEMETRY_REPORT_LINE_H
#define TRAINER_TELEMETRY_REPORT_LINE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/telemetry/epoch_times.h"
#include "trainer/telemetry/table.h"

#include <stdint.h>

struct eval_figures {
    int64_t step; /* 0: unknown, and left out */
    double epoch;
    const struct metric_field *list; /* borrowed */
    size_t count;
    int64_t images;
    struct file_faults faults;
    int64_t saved_at; /* clock_wall() of the checkpoint; 0: unknown, and left out */
};

/* Appends one line without its end. */
int report_line_train(struct buf *out, const struct table_row *row, struct error *err);
int report_line_eval(struct buf *out, const struct eval_figures *figures, struct error *err);
/* The figures of that line, for other places. */
enum { REPORT_LINE_EPOCH_FIELDS = 5 };
void report_line_epoch_fields(int64_t epoch, const struct epoch_summary *times,
                              struct metric_field ret[REPORT_LINE_EPOCH_FIELDS]);
int report_line_epoch(struct buf *out, int64_t epoch, const struct epoch_summary *times,
                      struct error *err);

#endif
