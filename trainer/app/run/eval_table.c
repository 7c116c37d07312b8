#include "trainer/app/run/eval_table.h"

#include "common/clock.h"
#include "common/table.h"
#include "trainer/app/task/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 10 };

void eval_table_done(struct eval_table *table) {
    free(table->rows);
    *table = (struct eval_table){0};
}

static double find(const struct evaluation *e, const char *name) {
    const struct metric_field *figure = TABLE_FIND_IN(e->figures, (size_t)e->count, name, name);
    return figure != NULL ? figure->value : (double)NAN;
}

int eval_table_add(struct eval_table *table, const struct metric_column *columns, int64_t step,
                   double epoch, int64_t saved_at, const struct evaluation *e, struct error *err) {
    if (table->rows == NULL &&
        (table->rows = calloc(EVAL_TABLE_ROWS_MAX, sizeof(*table->rows))) == NULL)
        return error_no_memory(err, "a table of evaluations");
    if (table->count == EVAL_TABLE_ROWS_MAX) {
        memmove(table->rows, table->rows + 1, (EVAL_TABLE_ROWS_MAX - 1) * sizeof(*table->rows));
        table->count--;
    }
    struct eval_row *row = &table->rows[table->count++];
    *row = (struct eval_row){.step = step, .epoch = epoch, .saved_at = saved_at};
    for (int i = 0; i < EVALUATION_COLUMNS_MAX && columns[i].name != NULL; i++) {
        row->values[i] = find(e, columns[i].name);
        table->shown[i] = table->shown[i] || evaluation_says(e, columns[i].name);
    }
    return 0;
}

static int print_head(const struct eval_table *table, const struct metric_column *columns,
                      struct buf *out, struct error *err) {
    if (buf_printf(out, err, "%8s %6s", "Step", "Epoch") != 0)
        return -1;
    for (int i = 0; i < EVALUATION_COLUMNS_MAX && columns[i].name != NULL; i++)
        if (table->shown[i] && buf_printf(out, err, " %*s", WIDTH, columns[i].heading) != 0)
            return -1;
    return buf_printf(out, err, "  Checkpoint (UTC)\n");
}

static int print_row(const struct eval_table *table, const struct metric_column *columns,
                     const struct eval_row *row, struct buf *out, struct error *err) {
    char stamp[CLOCK_STAMP_SIZE] = "";
    if (buf_printf(out, err, "%8lld %6.2f", (long long)row->step, row->epoch) != 0)
        return -1;
    for (int i = 0; i < EVALUATION_COLUMNS_MAX && columns[i].name != NULL; i++) {
        const double value = row->values[i];
        if (!table->shown[i])
            continue;
        int result = isnan(value) ? buf_printf(out, err, " %*s", WIDTH, "-")
                                  : buf_printf(out, err, " %*.*f", WIDTH, columns[i].decimals,
                                               value * columns[i].scale);
        if (result != 0)
            return -1;
    }
    if (row->saved_at == 0)
        return buf_printf(out, err, "  -\n");
    clock_stamp(row->saved_at, stamp);
    return buf_printf(out, err, "  %.10s %.8s\n", stamp, stamp + 11);
}

int eval_table_print(const struct eval_table *table, const struct metric_column *columns,
                     struct buf *out, struct error *err) {
    if (table->count == 0)
        return 0;
    if (print_head(table, columns, out, err) != 0)
        return -1;
    for (size_t i = 0; i < table->count; i++)
        if (print_row(table, columns, &table->rows[i], out, err) != 0)
            return -1;
    return 0;
}
