#include "common/cleanup.h"
#include "trainer/report/class_results.h"
#include "trainer/report/section.h"

#include <math.h>
#include <stdlib.h>

/* Classes of a matrix that is drawn, confusions of the list beside it, letters of a name. */
enum { MATRIX_MAX = 40, PAIRS = 10, LETTERS = 14 };

/* From this share on, a cell of right answers is dark (light in the dark) and has text of the other
 * kind. */
static const double STRONG = 0.6;

/* In units of the drawing. */
enum { CELL = 26, NAMES = 112, FONT_ROOM = 15 };

/* Appends the first LETTERS letters of NAME. */
static void put_short(struct html *h, const char *name) {
    char text[4 * LETTERS + 4];
    size_t used = 0;
    int letters = 0;
    for (; name[used] != '\0' && used < sizeof(text) - 4; used++) {
        if (((unsigned char)name[used] & 0xc0) != 0x80 && letters++ == LETTERS)
            break;
        text[used] = name[used];
    }
    text[used] = '\0';
    html_text(h, text);
    if (name[used] != '\0')
        html_put(h, "…");
}

static void put_cell(struct html *h, const struct class_results *c, const struct class_cell *cell,
                     double share) {
    const size_t x = NAMES + cell->answer * CELL, y = NAMES + cell->label * CELL;
    html_put(h,
             "<g><rect x=%zu y=%zu width=%d height=%d class=%s fill-opacity=%.2f /><text x=%zu "
             "y=%zu class=\"m%s\">%.0f</text><title>",
             x, y, CELL - 1, CELL - 1, cell->answer == cell->label ? "right" : "wrong",
             0.12 + 0.88 * sqrt(share), x + CELL / 2, y + FONT_ROOM + 2,
             share > STRONG && cell->answer == cell->label ? " on" : "", cell->count);
    html_text(h, c->rows[cell->label].name);
    html_put(h, " taken for ");
    html_text(h, c->rows[cell->answer].name);
    html_put(h, ": %.0f (%.1f %%)</title></g>", cell->count, 100 * share);
}

static void put_matrix(struct html *h, const struct class_results *c) {
    const size_t side = NAMES + c->row_count * CELL;
    double sums[MATRIX_MAX] = {0};
    html_put(h,
             "<svg class=matrix style=\"max-width:%zupx\" viewBox=\"0 0 %zu %zu\" role=img "
             "aria-label=\"confusion matrix\">",
             side * 3 / 2 < 640 ? side * 3 / 2
             : side < 640       ? (size_t)640
                                : side,
             side, side);
    html_put(h,
             "<text x=%d y=%d class=\"e unit\">true class ↓</text><text x=%d y=%d class=\"e "
             "unit\">answer →</text>",
             NAMES - 6, NAMES - 8, NAMES - 6, NAMES - 24);
    for (size_t i = 0; i < c->row_count; i++) {
        html_put(h, "<text x=%d y=%zu class=e>", NAMES - 6, NAMES + i * CELL + FONT_ROOM + 2);
        put_short(h, c->rows[i].name);
        html_put(h, "</text><text transform=\"translate(%zu %d) rotate(-60)\">",
                 NAMES + i * CELL + FONT_ROOM, NAMES - 6);
        put_short(h, c->rows[i].name);
        html_put(h, "</text>");
    }
    for (size_t i = 0; i < c->cell_count; i++)
        sums[c->cells[i].label] += c->cells[i].count;
    html_put(h, "<rect class=rail x=%d y=%d width=%zu height=%zu />", NAMES, NAMES,
             c->row_count * CELL - 1, c->row_count * CELL - 1);
    for (size_t i = 0; i < c->cell_count; i++)
        put_cell(h, c, &c->cells[i], c->cells[i].count / sums[c->cells[i].label]);
    html_put(h, "</svg>");
}

static void put_pairs(struct html *h, const struct class_results *c) {
    int shown = 0;
    for (size_t i = 0; i < c->cell_count && shown < PAIRS; i++) {
        const struct class_cell *cell = &c->cells[i];
        if (cell->label == cell->answer)
            continue;
        if (shown++ == 0)
            html_put(h, "<div class=scroll><table><thead><tr><th>Class<th>Taken for<th class=n>"
                        "Images<th class=n>%% of the class</tr></thead><tbody>");
        html_put(h, "<tr><td class=name>");
        html_text(h, c->rows[cell->label].name);
        html_put(h, "<td class=name>");
        html_text(h, c->rows[cell->answer].name);
        html_put(h, "<td class=n>%.0f<td class=n>", cell->count);
        const double all = c->rows[cell->label].count;
        html_put_share(h, all > 0 ? cell->count / all : (double)NAN, true);
        html_put(h, "</tr>");
    }
    html_put(h, shown > 0 ? "</tbody></table></div>"
                          : "<p class=note>No class is taken for another.</p>");
}

void section_confusion(struct html *h, const struct page_runs *runs) {
    bool opened = false;
    for (size_t i = 0; i < runs->count; i++) {
        cleanup_class_results struct class_results c = {0};
        if (class_results_read(&c, &runs->list[i]->history, &h->error) != 0)
            h->failed = true;
        if (c.cell_count == 0)
            continue;
        if (!opened)
            section_open(h, "Confusions", "The last evaluation's, the most frequent first.");
        opened = true;
        if (runs->count > 1) {
            html_put(h, "<h3>");
            section_run_name(h, runs, i);
            html_put(h, "</h3>");
        }
        html_put(h, "<div class=pair>");
        if (c.row_count <= MATRIX_MAX)
            put_matrix(h, &c);
        put_pairs(h, &c);
        html_put(h, "</div>");
    }
    if (opened)
        html_put(h, "</section>");
}
