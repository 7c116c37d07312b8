#include "trainer/telemetry/report_line.h"

#include "common/clock.h"
#include "common/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
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

/* Columns that every table has, with the blanks between them: 44 of the 80 of a terminal, so that
 * the five losses of a detector have room beside them. */
enum { WIDTH_OF_ALL = 6 + 1 + 6 + 1 + 6 + 1 + 6 + 1 + 7 + 1 + 8, NUMBER_WIDTH = 6 };

static size_t width_of(const struct metric_column *column) {
    const size_t heading = strlen(column->heading);
    return heading > NUMBER_WIDTH ? heading : NUMBER_WIDTH;
}

size_t report_line_fitting(const struct metric_column *columns, size_t width) {
    size_t count = 0, used = WIDTH_OF_ALL;
    while (columns != NULL && columns[count].name != NULL &&
           used + 1 + width_of(&columns[count]) <= width)
        used += 1 + width_of(&columns[count++]);
    return count;
}

int report_line_header(struct buf *out, const struct metric_column *columns, size_t count,
                       struct error *err) {
    if (buf_printf(out, err, "%6s %6s %6s %6s %7s %8s", "Step", "Epoch", "img/s", "Loss", "FinLoss",
                   "LR") != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (buf_printf(out, err, " %*s", (int)width_of(&columns[i]), columns[i].heading) != 0)
            return -1;
    return 0;
}

/* Appends VALUE with as many DECIMALS as its column has room for. Columns then stay straight where
 * a loss is large, or the speed of a large network is a fraction. */
static int add_number(struct buf *out, size_t width, int decimals, double value,
                      struct error *err) {
    char text[512]; /* the largest double has 309 digits */
    /* The sign of a NaN is meaningless, but printf prints it. */
    value = isnan(value) ? fabs(value) : value;
    while (snprintf(text, sizeof(text), "%.*f", decimals, value) > (int)width && decimals > 0)
        decimals--;
    return buf_printf(out, err, " %*s", (int)width, text);
}

int report_line_row(struct buf *out, const struct table_row *row, struct error *err) {
    const int digits = row->speed >= 10 ? 1 : 3; /* a large network takes seconds for an image */
    if (buf_printf(out, err, "%6lld %6.2f", (long long)row->step, row->epoch) != 0 ||
        add_number(out, NUMBER_WIDTH, digits, row->speed, err) != 0 ||
        add_number(out, NUMBER_WIDTH, 4, row->loss, err) != 0 ||
        add_number(out, NUMBER_WIDTH + 1, 4, row->final_loss, err) != 0 ||
        add_number(out, NUMBER_WIDTH + 2, 6, row->lr, err) != 0)
        return -1;
    for (size_t i = 0; i < row->column_count; i++) {
        const struct metric_column *column = &row->columns[i];
        const struct metric_field *field =
            TABLE_FIND_IN(row->more, row->more_count, name, column->name);
        const double value = field != NULL ? field->value : (double)NAN;
        if (add_number(out, width_of(column), column->decimals, column->scale * value, err) != 0)
            return -1;
    }
    return 0;
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
