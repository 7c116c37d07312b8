#include "telemetry/report_line.h"

#include "common/metric_line.h"

int report_line_train(struct buf *out, const struct table_row *row, struct error *err) {
    const struct metric_field fields[] = {{"step", (double)row->step},
                                          {"epoch", row->epoch},
                                          {"loss", row->loss},
                                          {"lr", row->lr},
                                          {"images_per_second", row->speed},
                                          {"data_wait", row->data_wait}};
    return metric_line_format(out, "train", fields, sizeof(fields) / sizeof(fields[0]), err);
}

int report_line_eval(struct buf *out, const struct eval_figures *figures, struct error *err) {
    const struct metric_field fields[] = {{"epoch", figures->epoch},
                                          {"top1", figures->top1},
                                          {"top5", figures->top5},
                                          {"loss", figures->loss},
                                          {"images", (double)figures->images}};
    return metric_line_format(out, "eval", fields, sizeof(fields) / sizeof(fields[0]), err);
}
