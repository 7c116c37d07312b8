#include "trainer/telemetry/table.h"

#include <math.h>

int table_header(struct buf *out, struct error *err) {
    return buf_printf(out, err, "%8s %6s %8s %7s %7s %9s", "Step", "Epoch", "Speed", "Loss",
                      "FinLoss", "LR");
}

/* The sign of a NaN is meaningless, but printf prints it. */
static double unsigned_nan(double value) {
    return isnan(value) ? fabs(value) : value;
}

int table_row(struct buf *out, const struct table_row *row, struct error *err) {
    return buf_printf(out, err, "%8lld %6.2f %8.1f %7.4f %7.4f %9.6f", (long long)row->step,
                      row->epoch, row->speed, unsigned_nan(row->loss),
                      unsigned_nan(row->final_loss), row->lr);
}
