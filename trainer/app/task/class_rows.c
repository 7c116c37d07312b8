#include "trainer/app/task/class_rows.h"

#include "common/cleanup.h"
#include "common/json/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    size_t label, answer;
    double count;
};

int class_rows_begin(struct buf *out, const char *metric, struct error *err) {
    return buf_printf(out, err, "\"metric\":\"%s\",\"rows\":[", metric);
}

int class_rows_add(struct buf *out, const char *name, double count, double value,
                   struct error *err) {
    const bool first = out->size > 0 && out->data[out->size - 1] == '[';
    if (buf_add_text(out, first ? "[" : ",[", err) != 0 ||
        json_text_quote(out, name, strlen(name), err) != 0)
        return -1;
    return isfinite(value) ? buf_printf(out, err, ",%.0f,%.6g]", count, value)
                           : buf_printf(out, err, ",%.0f,null]", count);
}

int class_rows_end(struct buf *out, struct error *err) {
    return buf_add_text(out, "]", err);
}

/* The most frequent first; equal ones by their numbers. */
static int by_count(const void *a, const void *b) {
    const struct cell *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return (x->answer > y->answer) - (x->answer < y->answer);
}

static int add_cells(const struct class_tally *tally, struct buf *out, struct error *err) {
    const size_t classes = tally->classes;
    size_t count = 0;
    cleanup_free struct cell *cells = calloc(classes * classes + 1, sizeof(*cells));
    if (cells == NULL)
        return error_no_memory(err, "confusions");
    for (size_t i = 0; i < classes * classes; i++)
        if (tally->pairs[i] > 0)
            cells[count++] = (struct cell){i / classes, i % classes, tally->pairs[i]};
    qsort(cells, count, sizeof(*cells), by_count);
    if (buf_add_text(out, ",\"cells\":[", err) != 0)
        return -1;
    for (size_t i = 0; i < count && i < CLASS_ROWS_CELLS; i++)
        if (buf_printf(out, err, "%s[%zu,%zu,%.0f]", i > 0 ? "," : "", cells[i].label,
                       cells[i].answer, cells[i].count) != 0)
            return -1;
    return buf_add_text(out, "]", err);
}

int class_rows_of_tally(const struct class_tally *tally, char *const *names, struct buf *out,
                        struct error *err) {
    if (class_rows_begin(out, "top1", err) != 0)
        return -1;
    for (size_t c = 0; c < tally->classes; c++) {
        const double count = tally->sums[c], right = tally->sums[tally->classes + c];
        if (class_rows_add(out, names[c], count, count > 0 ? right / count : (double)NAN, err) != 0)
            return -1;
    }
    return class_rows_end(out, err) != 0 ? -1
           : tally->pairs != NULL        ? add_cells(tally, out, err)
                                         : 0;
}
