#include "trainer/report/line_chart.h"

#include "common/cleanup.h"
#include "common/html/axis.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A chart is made in two steps: fit looks at all points of all curves and chooses the axes; the
 * rest writes SVG in that frame. There is no script in the page, so everything that a reader can
 * see is written at once. A curve is one path, and circles with titles show numbers under the
 * pointer.
 *
 * Values and steps come from files and are printed by printf() as numbers only. Names and titles go
 * through html_text, which escapes them. */

/* In units of the drawing. The four margins hold labels of ticks. */
enum { WIDTH = 420, HEIGHT = 220, LEFT = 46, RIGHT = 12, TOP = 10, BOTTOM = 36 };

/* Points with a title, over all curves of a chart; points of one that are drawn; ticks. */
enum { TITLES_MAX = 160, DOTS_MAX = 30, TICKS_X = 5, TICKS_Y = 4 };

/* Beyond so many times the bulk of the values, a peak is cut off at the upper edge. Of a few
 * evaluations nothing is: the last one may well be three times as good as those before. */
static const double peak = 3;
enum { EVALUATIONS_LEAST = 20 };
/* Shares are shown in percent and cannot be larger. */
static const double all_percent = 100;

/* What all curves of a chart have in common. */
struct frame {
    struct chart_axis x, y;
    double most; /* the highest value; above y.high: it is cut off */
    /* Points that are not finite, and the step of the first one. */
    size_t not_finite, points;
    double not_finite_from;
};

/* For qsort(); the values are finite, so they have an order. */
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fits the axes to all finite values. Returns false if there are none. The bulk is the 95th
 * percentile: a few steps with a huge loss at the beginning would otherwise flatten all that
 * follows. RET also counts the points that are not finite, for a note below the chart. */
static bool fit(const struct line_chart *chart, struct frame *ret) {
    *ret = (struct frame){.most = 0};
    size_t room = 0, count = 0;
    double last = 0, first = INFINITY;
    for (size_t i = 0; i < chart->count; i++)
        room += chart->lines[i].curve->count + 1;
    cleanup_free double *values = calloc(room, sizeof(*values));
    if (values == NULL)
        return false;
    for (size_t i = 0; i < chart->count; i++) {
        const struct history_curve *c = chart->lines[i].curve;
        for (size_t k = 0; k < c->count; k++) {
            const double value = c->points[k].value * chart->scale;
            last = fmax(last, c->points[k].step);
            first = fmin(first, c->points[k].step);
            ret->points++;
            if (isfinite(value))
                values[count++] = value;
            else if (ret->not_finite++ == 0 || c->points[k].step < ret->not_finite_from)
                ret->not_finite_from = c->points[k].step;
        }
    }
    if (count == 0)
        return false;
    qsort(values, count, sizeof(*values), ascending);
    const double low = values[0], bulk = values[(count - 1) * 95 / 100];
    ret->most = values[count - 1];
    const bool few = chart->lines[0].curve->evaluated && count < EVALUATIONS_LEAST;
    const bool cut = !few && low >= 0 && bulk > 0 && ret->most > peak * bulk;
    /* An axis that begins at zero shows proportions; it does not where that would waste half of it.
     */
    ret->x = axis_fit(first <= last / 2 ? 0 : first, last, TICKS_X);
    /* Steps are whole, and an axis of them does not need to end at a tick. */
    if (last > ret->x.low)
        ret->x.high = last;
    ret->y =
        axis_fit(low >= 0 && low < ret->most / 3 ? 0 : low, cut ? bulk * 1.3 : ret->most, TICKS_Y);
    if (strcmp(chart->unit, "%") == 0 && ret->most <= all_percent && ret->y.high > all_percent) {
        ret->y.high = all_percent; /* a tick: steps are 1, 2 or 5 times a power of ten */
        ret->y.ticks = (int)round((all_percent - ret->y.low) / ret->y.step) + 1;
    }
    return true;
}

/* Returns the place of STEP in the drawing. */
static double x_of(const struct frame *f, double step) {
    return LEFT + axis_share(&f->x, step) * (WIDTH - LEFT - RIGHT);
}

/* Returns the place of VALUE; axis_share keeps one above the axis at its upper edge. */
static double y_of(const struct frame *f, double value) {
    return HEIGHT - BOTTOM - axis_share(&f->y, value) * (HEIGHT - TOP - BOTTOM);
}

/* Horizontal lines with labels at the values' ticks, and ticks below for steps. */
static void put_axes(struct html *h, const struct frame *f) {
    char label[AXIS_LABEL_SIZE];
    for (int i = 0; i < f->y.ticks; i++) {
        const double y = y_of(f, axis_tick(&f->y, i));
        axis_label(&f->y, i, label);
        html_put(h, "<path class=grid d=\"M%d %.1fH%d\"/><text x=%d y=%.1f class=e>%s</text>", LEFT,
                 y, WIDTH - RIGHT, LEFT - 6, y + 3.5, label);
    }
    for (int i = 0; i < f->x.ticks; i++) {
        const double step = axis_tick(&f->x, i);
        if (step > f->x.high)
            break;
        axis_label(&f->x, i, label);
        html_put(h, "<path class=tick d=\"M%.1f %dv4\"/><text x=%.1f y=%d class=m>%s</text>",
                 x_of(f, step), HEIGHT - BOTTOM, x_of(f, step), HEIGHT - BOTTOM + 16, label);
    }
    html_put(h, "<path class=axis d=\"M%d %dH%d\"/>", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT);
    html_put(h, "<text x=%d y=%d class=\"m unit\">step</text>", LEFT + (WIDTH - LEFT - RIGHT) / 2,
             HEIGHT - 4);
}

/* Writes a curve as one path. It is broken where a value is not finite, and begins anew after that.
 */
static void put_line(struct html *h, const struct frame *f, const struct chart_line *line,
                     double scale) {
    const struct history_curve *c = line->curve;
    bool broken = true;
    html_put(h, "<path class=\"line s%zu\" d=\"", line->color);
    for (size_t k = 0; k < c->count; k++) {
        const double value = c->points[k].value * scale;
        if (isfinite(value))
            html_put(h, "%c%.1f %.1f", broken ? 'M' : 'L', x_of(f, c->points[k].step),
                     y_of(f, value));
        broken = !isfinite(value);
    }
    html_put(h, "\"/>");
}

/* Points that show their numbers, and where there are few, themselves. Counted from the last point
 * on, which therefore always has a title. The more curves, the fewer titles each has, but twelve at
 * least. */
static void put_points(struct html *h, const struct frame *f, const struct line_chart *chart,
                       const struct chart_line *line) {
    const struct history_curve *c = line->curve;
    const size_t titles = TITLES_MAX / chart->count > 12 ? TITLES_MAX / chart->count : 12;
    const size_t every = (c->count + titles - 1) / titles;
    char step[HTML_NUMBER_SIZE], value[HTML_NUMBER_SIZE];
    html_put(h, "<g class=\"p s%zu%s\">", line->color, c->count <= DOTS_MAX ? " dots" : "");
    for (size_t k = 0; k < c->count; k += every) {
        const size_t left = c->count - 1 - k;
        const struct history_point *point = &c->points[left];
        if (!isfinite(point->value))
            continue;
        html_number(step, point->step);
        html_number(value, point->value * chart->scale);
        html_put(h, "<circle cx=%.1f cy=%.1f r=3><title>", x_of(f, point->step),
                 y_of(f, point->value * chart->scale));
        if (chart->count > 1) {
            html_text(h, line->name);
            html_put(h, "\n");
        }
        html_put(h, "step %s: %s%s%s</title></circle>", step, value,
                 chart->unit[0] != '\0' ? " " : "", chart->unit);
    }
    html_put(h, "</g>");
}

/* Points are written after all lines, so that no line covers them. Every fault of the values that
 * the drawing hides, peaks and points that are not finite, is listed below it. */
void line_chart_put(struct html *h, const struct line_chart *chart) {
    struct frame f;
    char text[HTML_NUMBER_SIZE];
    if (!fit(chart, &f))
        return;
    html_put(h, "<figure class=card><figcaption><b>");
    html_text(h, chart->title);
    html_put(h, "</b>");
    if (chart->count == 1) {
        html_number(text, chart->lines[0].curve->last.value * chart->scale);
        html_put(h, "<span class=now>%s%s%s</span>", text, chart->unit[0] != '\0' ? " " : "",
                 chart->unit);
    } else if (chart->unit[0] != '\0') {
        html_put(h, "<span class=now>%s</span>", chart->unit);
    }
    html_put(h, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"", WIDTH, HEIGHT);
    html_text(h, chart->title);
    html_put(h, " over steps\">");
    put_axes(h, &f);
    for (size_t i = 0; i < chart->count; i++)
        put_line(h, &f, &chart->lines[i], chart->scale);
    for (size_t i = 0; i < chart->count; i++)
        put_points(h, &f, chart, &chart->lines[i]);
    html_put(h, "</svg>");
    if (f.most > f.y.high) {
        html_number(text, f.most);
        html_put(h, "<p class=note>peaks above the chart are cut off; the highest is %s%s%s</p>",
                 text, chart->unit[0] != '\0' ? " " : "", chart->unit);
    }
    if (f.not_finite > 0) {
        html_number(text, f.not_finite_from);
        html_put(h, "<p class=note>%zu of %zu points are not finite, the first at step %s</p>",
                 f.not_finite, f.points, text);
    }
    html_put(h, "</figure>");
}
