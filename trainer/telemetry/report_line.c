#include "telemetry/report_line.h"

#include "common/metric_line.h"

/* Room for the two behind COUNT fields; returns how many there are then. */
enum { TRAIN_FIELDS = 7, EVAL_FIELDS = 5, FAULT_FIELDS = 2 };

static size_t add_faults(struct metric_field *fields, size_t count,
                         const struct file_faults *faults) {
    if (faults->bad > 0)
        fields[count++] = (struct metric_field){"bad_files", (double)faults->bad};
    if (faults->damaged > 0)
        fields[count++] = (struct metric_field){"damaged_files", (double)faults->damaged};
    return count;
}

int report_line_train(struct buf *out, const struct table_row *row, struct error *err) {
    struct metric_field fields[TRAIN_FIELDS + FAULT_FIELDS] = {{"step", (double)row->step},
                                                               {"epoch", row->epoch},
                                                               {"loss", row->loss},
                                                               {"lr", row->lr},
                                                               {"images_per_second", row->speed},
                                                               {"data_wait", row->data_wait},
                                                               {"skipped", (double)row->skipped}};
    size_t count = add_faults(fields, TRAIN_FIELDS, &row->faults);
    return metric_line_format(out, "train", fields, count, err);
}

int report_line_eval(struct buf *out, const struct eval_figures *figures, struct error *err) {
    struct metric_field fields[EVAL_FIELDS + FAULT_FIELDS] = {{"epoch", figures->epoch},
                                                              {"top1", figures->top1},
                                                              {"top5", figures->top5},
                                                              {"loss", figures->loss},
                                                              {"images", (double)figures->images}};
    size_t count = add_faults(fields, EVAL_FIELDS, &figures->faults);
    return metric_line_format(out, "eval", fields, count, err);
}
