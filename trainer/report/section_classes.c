#include "common/cleanup.h"
#include "trainer/report/class_results.h"
#include "trainer/report/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Classes that are shown. */
enum { SHOWN_MAX = 30 };

struct ranked {
    double value;
    size_t row;
};

/* The worst first, those without a result last. */
static int worst_first(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (!isnan(x->value) && x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Returns the row of a class in another run: mostly the same one. */
static const struct class_result *find(const struct class_results *c, const char *name,
                                       size_t near) {
    if (near < c->row_count && strcmp(c->rows[near].name, name) == 0)
        return &c->rows[near];
    for (size_t i = 0; i < c->row_count; i++)
        if (strcmp(c->rows[i].name, name) == 0)
            return &c->rows[i];
    return NULL;
}

static void put_value(struct html *h, const struct class_result *row, bool percent, size_t color) {
    const double value = row != NULL ? row->value : (double)NAN;
    const double share = value > 0 ? value < 1 ? value : 1 : 0;
    html_put(h, "<td class=n>");
    html_put_share(h, value, percent);
    html_put(h,
             "<td class=bar><svg viewBox=\"0 0 100 10\" preserveAspectRatio=none "
             "aria-hidden=true><rect class=rail width=100 height=10 /><rect class=s%zu "
             "width=%.2f height=10 /></svg>",
             color, 100 * share);
}

static void put_row(struct html *h, const struct class_results *all, size_t count, size_t first,
                    size_t row, bool percent) {
    const struct class_result *own = &all[first].rows[row];
    html_put(h, "<tr><td class=name>");
    html_text(h, own->name);
    html_put(h, "<td class=n>");
    html_put_number(h, own->count);
    for (size_t i = 0; i < count; i++)
        if (all[i].metric[0] != '\0')
            put_value(h, find(&all[i], own->name, row), percent, i);
    html_put(h, "</tr>");
}

static void put_head(struct html *h, const struct page_runs *runs, const struct class_results *all,
                     bool percent) {
    html_put(h, "<div class=scroll><table><thead><tr><th>Class<th class=n>%s",
             percent ? "Images" : "Objects");
    for (size_t i = 0; i < runs->count; i++) {
        if (all[i].metric[0] == '\0')
            continue;
        if (runs->count > 1) {
            html_put(h, "<th class=n colspan=2>");
            section_run_name(h, runs, i);
        } else {
            html_put(h, "<th class=n>%s<th>", percent ? "Top-1, %" : "AP");
        }
    }
    html_put(h, "</tr></thead><tbody>");
}

static void put_table(struct html *h, const struct page_runs *runs, const struct class_results *all,
                      size_t first) {
    const size_t count = all[first].row_count;
    const bool percent = strcmp(all[first].metric, "top1") == 0;
    cleanup_free struct ranked *order = calloc(count + 1, sizeof(*order));
    if (order == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct ranked){all[first].rows[i].value, i};
    qsort(order, count, sizeof(*order), worst_first);
    put_head(h, runs, all, percent);
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++)
        put_row(h, all, runs->count, first, order[i].row, percent);
    html_put(h, "</tbody></table></div>");
    if (count > SHOWN_MAX)
        html_put(h,
                 "<p class=note>%zu more classes are not shown, as none of them is worse; "
                 "run.jsonl has all</p>",
                 count - SHOWN_MAX);
}

void section_classes(struct html *h, const struct page_runs *runs) {
    struct class_results all[PAGE_RUNS_MAX] = {{0}};
    size_t first = runs->count;
    for (size_t i = 0; i < runs->count; i++) {
        if (class_results_read(&all[i], &runs->list[i]->history, &h->error) != 0)
            h->failed = true;
        if (first == runs->count && all[i].metric[0] != '\0')
            first = i;
    }
    if (first < runs->count) {
        section_open(h, "Results by class", "The last evaluation's, the worst classes first.");
        put_table(h, runs, all, first);
    } else {
        section_open(h, "Results by class", "No evaluation has recorded them yet.");
    }
    html_put(h, "</section>");
    for (size_t i = 0; i < runs->count; i++)
        class_results_done(&all[i]);
}
