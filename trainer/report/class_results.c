#include "trainer/report/class_results.h"

#include <math.h>
#include <stdlib.h>

void class_results_done(struct class_results *c) {
    free(c->rows);
    free(c->cells);
    *c = (struct class_results){.metric = ""};
}

static void read_rows(struct class_results *c, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *name = json_array_get(row, 0), *count = json_array_get(row, 1);
        const json_t *value = json_array_get(row, 2);
        /* A row that is none keeps its place: cells name rows by number. */
        c->rows[c->row_count++] = (struct class_result){
            .name = json_is_string(name) ? json_string_value(name) : "?",
            .count = json_is_number(count) ? json_number_value(count) : 0,
            .value = json_is_number(value) ? json_number_value(value) : (double)NAN};
    }
}

static void read_cells(struct class_results *c, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *cell = json_array_get(list, i);
        const json_t *label = json_array_get(cell, 0), *answer = json_array_get(cell, 1);
        const json_t *count = json_array_get(cell, 2);
        if (!json_is_integer(label) || !json_is_integer(answer) || !json_is_number(count) ||
            !(json_number_value(count) > 0))
            continue;
        const json_int_t from = json_integer_value(label), to = json_integer_value(answer);
        if (from >= 0 && to >= 0 && (size_t)from < c->row_count && (size_t)to < c->row_count)
            c->cells[c->cell_count++] =
                (struct class_cell){(size_t)from, (size_t)to, json_number_value(count)};
    }
}

int class_results_read(struct class_results *ret, const struct run_history *h, struct error *err) {
    const json_t *rows = json_object_get(h->classes, "rows");
    const json_t *cells = json_object_get(h->classes, "cells");
    const json_t *step = json_object_get(h->classes, "step");
    const char *metric = json_string_value(json_object_get(h->classes, "metric"));
    *ret = (struct class_results){
        .metric = metric != NULL && json_array_size(rows) > 0 ? metric : "",
        .step = json_is_number(step) ? json_number_value(step) : (double)NAN};
    ret->rows = calloc(json_array_size(rows) + 1, sizeof(*ret->rows));
    ret->cells = calloc(json_array_size(cells) + 1, sizeof(*ret->cells));
    if (ret->rows == NULL || ret->cells == NULL) {
        class_results_done(ret);
        return error_no_memory(err, "results by class");
    }
    read_rows(ret, rows);
    read_cells(ret, cells);
    return 0;
}
