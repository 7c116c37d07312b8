#include "trainer/telemetry/report_line.h"

#include "common/clock.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FIELDS_MAX = 64 };

struct fields {
    struct metric_field list[FIELDS_MAX];
    size_t count;
};

static void add(struct fields *f, const char *name, double value) {
    assert(f->count < FIELDS_MAX);
    f->list[f->count++] = (struct metric_field){name, value};
}

static void add_all(struct fields *f, const struct metric_field *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        add(f, list[i].name, list[i].value);
}

static void add_faults(struct fields *f, const struct file_faults *faults) {
    if (faults->bad > 0)
        add(f, "bad_files", (double)faults->bad);
    if (faults->damaged > 0)
        add(f, "damaged_files", (double)faults->damaged);
}

int report_line_header(struct buf *out, struct error *err) {
    return buf_printf(out, err, "%8s %6s %8s %7s %7s %9s", "Step", "Epoch", "Speed", "Loss",
                      "FinLoss", "LR");
}

/* The sign of a NaN is meaningless, but printf prints it. */
static double unsigned_nan(double value) {
    return isnan(value) ? fabs(value) : value;
}

int report_line_row(struct buf *out, const struct table_row *row, struct error *err) {
    const int digits = row->speed >= 10 ? 1 : 3; /* a large network takes seconds for an image */
    return buf_printf(out, err, "%8lld %6.2f %8.*f %7.4f %7.4f %9.6f", (long long)row->step,
                      row->epoch, digits, row->speed, unsigned_nan(row->loss),
                      unsigned_nan(row->final_loss), row->lr);
}

int report_line_train(struct buf *out, const struct table_row *row, struct error *err) {
    struct fields f = {0};
    add(&f, "step", (double)row->step);
    add(&f, "epoch", row->epoch);
    add(&f, "loss", row->loss);
    add_all(&f, row->more, row->more_count);
    add(&f, "lr", row->lr);
    add(&f, "images_per_second", row->speed);
    add(&f, "data_wait", row->data_wait);
    if (row->several)
        add(&f, "comm_wait", row->comm_wait);
    add(&f, "skipped", (double)row->skipped);
    add_faults(&f, &row->faults);
    return metric_line_format(out, "train", f.list, f.count, err);
}

int report_line_eval(struct buf *out, const struct eval_figures *figures, struct error *err) {
    struct fields f = {0};
    add(&f, "epoch", figures->epoch);
    add_all(&f, figures->list, figures->count);
    add(&f, "images", (double)figures->images);
    add_faults(&f, &figures->faults);
    if (figures->step > 0)
        add(&f, "step", (double)figures->step);
    if (metric_line_format(out, "eval", f.list, f.count, err) != 0)
        return -1;
    if (figures->saved_at == 0)
        return 0;
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(figures->saved_at, stamp);
    return buf_printf(out, err, " checkpoint_time=%.19sZ", stamp);
}

void report_line_epoch_fields(int64_t epoch, const struct epoch_summary *times,
                              struct metric_field ret[REPORT_LINE_EPOCH_FIELDS]) {
    const struct metric_field fields[REPORT_LINE_EPOCH_FIELDS] = {
        {"epoch", (double)epoch},
        {"seconds", times->seconds},
        {"images_per_second", times->images_per_second},
        {"checkpoint_seconds", times->checkpoint_seconds},
        {"eval_seconds", times->eval_seconds},
    };
    memcpy(ret, fields, sizeof(fields));
}

int report_line_epoch(struct buf *out, int64_t epoch, const struct epoch_summary *times,
                      struct error *err) {
    struct metric_field fields[REPORT_LINE_EPOCH_FIELDS];
    report_line_epoch_fields(epoch, times, fields);
    return metric_line_format(out, "epoch", fields, REPORT_LINE_EPOCH_FIELDS, err);
}
