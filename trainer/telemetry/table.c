#include "telemetry/table.h"

int table_header(struct buf *out, struct error *err) {
    return buf_printf(out, err, "%8s %6s %8s %7s %7s %9s", "Step", "Epoch", "Speed", "Loss",
                      "FinLoss", "LR");
}

int table_row(struct buf *out, const struct table_row *row, struct error *err) {
    return buf_printf(out, err, "%8lld %6.2f %8.1f %7.4f %7.4f %9.6f", (long long)row->step,
                      row->epoch, row->speed, row->loss, row->final_loss, row->lr);
}
