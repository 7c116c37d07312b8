#include "common/scaling/scaling_chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* A chart is one inline SVG, without script: a frame fits the data, axes and ticks come first, then
 * a line and dots for each variant, so that dots lie on top. Colors are classes s0, s1 and so on,
 * which common/html/page_style.c defines for light and dark pages.
 *
 * Ranks are on a logarithmic axis, because sizes are mostly powers of two and would crowd at the
 * left of a linear one. Throughput is logarithmic as well, so that perfect scaling is a straight
 * line. Efficiency is a share, from 0 on, so that its loss has its true size. */

/* In units of the drawing. LEFT is wide enough for the labels of the y axis, and BOTTOM for those
 * of the x axis and its name. */
enum { WIDTH = 560, HEIGHT = 280, LEFT = 62, RIGHT = 14, TOP = 12, BOTTOM = 40 };

/* More labels than these would touch each other at this width. */
enum { TICKS_MAX = 12 };

/* The part of the data that a chart shows. Both axes map it linearly to the drawing. */
struct frame {
    double x_low, x_high, y_low, y_high; /* logarithms of base 2 and 10, or a share */
};

/* Logarithms need a rate above 0. A size that failed has none and leaves a gap in its line. */
static bool is_drawn(const struct scaling_row *r) {
    return isfinite(r->rate) && r->rate > 0;
}

/* fit_x() makes the range at least one doubling wide, so this never divides by 0. */
static double x_of(const struct frame *f, int ranks) {
    const double share = (log2(ranks) - f->x_low) / (f->x_high - f->x_low);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

/* SVG's y grows downwards. */
static double y_of(const struct frame *f, double value) {
    const double share = (value - f->y_low) / (f->y_high - f->y_low);
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

/* The rows of a variant. */
struct series {
    const struct scaling_study *study;
    struct scaling_row rows[SCALING_ROWS_MAX];
    size_t count;
    int measured, projected; /* colors */
};

/* Each variant has the color of its place in the chain, which has at most SCALING_STUDIES_MAX. */
static size_t list_series(const struct scaling_study *s, struct series ret[SCALING_STUDIES_MAX]) {
    size_t count = 0;
    for (; s != NULL && count < SCALING_STUDIES_MAX; s = s->next, count++) {
        ret[count].study = s;
        ret[count].count = scaling_rows(s, ret[count].rows);
        ret[count].measured = (int)count;
        ret[count].projected = (int)count;
    }
    /* One alone has a color for what is not measured. */
    if (count == 1)
        ret[0].projected = 1;
    return count;
}

/* Fits the ranks; returns false if there is nothing to draw. */
static bool fit_x(struct frame *f, const struct series *list, size_t count) {
    bool any = false;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < list[k].count; i++) {
            if (!is_drawn(&list[k].rows[i]))
                continue;
            const double x = log2(list[k].rows[i].ranks);
            f->x_low = any ? fmin(f->x_low, x) : x;
            f->x_high = any ? fmax(f->x_high, x) : x;
            any = true;
        }
    if (any && f->x_high - f->x_low < 1)
        f->x_high = f->x_low + 1;
    return any;
}

/* Ticks are at powers of two only, and at every second or third one where there are too many for
 * the width. HTML allows the attributes without quotes where a value has no blank. */
static void put_x_axis(struct html *h, const struct frame *f) {
    const int first = (int)ceil(f->x_low), last = (int)floor(f->x_high);
    const int every = (last - first) / TICKS_MAX + 1;
    for (int power = first; power <= last; power += every) {
        const double x = x_of(f, 1 << power);
        html_put(h, "<path class=tick d=\"M%.1f %dv4\"/><text x=%.1f y=%d class=m>%d</text>", x,
                 HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16, 1 << power);
    }
    html_put(h, "<path class=axis d=\"M%d %dH%d\"/><text x=%d y=%d class=\"m unit\">ranks</text>",
             LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 6);
}

/* 3.5 units down center a digit on its line. */
static void put_y_tick(struct html *h, const struct frame *f, double at, const char *label) {
    const double y = y_of(f, at);
    html_put(h, "<path class=grid d=\"M%d %.1fH%d\"/><text x=%d y=%.1f class=e>%s</text>", LEFT, y,
             WIDTH - RIGHT, LEFT - 6, y + 3.5, label);
}

/* VALUE_OF a row that is drawn. Measured sizes are joined by a line and have filled dots; projected
 * ones continue it, dashed and with hollow dots. All lines come before all dots, so that no line
 * covers a dot. UNIT follows the number in the tooltip; with PERCENT the value is a share. */
static void put_series(struct html *h, const struct frame *f, const struct series *s,
                       double (*value_of)(const struct scaling_row *r), const char *unit,
                       bool percent) {
    const struct scaling_row *before = NULL;
    char text[HTML_NUMBER_SIZE];
    for (size_t i = 0; i < s->count; i++) {
        const struct scaling_row *r = &s->rows[i];
        if (!is_drawn(r))
            continue;
        if (before != NULL)
            html_put(h, "<path class=\"line s%d\" d=\"M%.1f %.1fL%.1f %.1f\"%s/>",
                     r->point != NULL ? s->measured : s->projected, x_of(f, before->ranks),
                     y_of(f, value_of(before)), x_of(f, r->ranks), y_of(f, value_of(r)),
                     r->point != NULL ? "" : " stroke-dasharray=\"5 4\"");
        before = r;
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct scaling_row *r = &s->rows[i];
        if (!is_drawn(r))
            continue;
        html_number(text, percent ? 100 * value_of(r) : r->rate);
        html_put(h,
                 "<g class=\"p s%d dots\"><circle cx=%.1f cy=%.1f r=4><title>%s%s%d ranks: %s %s%s"
                 "</title></circle></g>",
                 r->point != NULL ? s->measured : s->projected, x_of(f, r->ranks),
                 y_of(f, value_of(r)), s->study->variant, s->study->variant[0] != '\0' ? ", " : "",
                 r->ranks, text, unit, r->point != NULL ? "" : " (projected)");
    }
}

/* The label is what a screen reader says in place of the drawing. */
static void open_chart(struct html *h, const char *title) {
    html_put(h,
             "<figure class=card><figcaption><b>%s</b></figcaption><svg viewBox=\"0 0 %d %d\" "
             "role=img aria-label=\"%s over ranks\">",
             title, WIDTH, HEIGHT, title);
}

/* What the charts draw of a row: its place on the y axis, and not the text beside it. */
static double log_rate(const struct scaling_row *r) {
    return log10(r->rate);
}

/* 1 is a rank as fast as in the smallest size. */
static double efficiency(const struct scaling_row *r) {
    return r->efficiency;
}

/* The first drawn row of a series, or with LAST its last one; NULL: none is drawn. */
static const struct scaling_row *edge(const struct series *s, bool last) {
    const struct scaling_row *found = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (is_drawn(&s->rows[i]) && (last || found == NULL))
            found = &s->rows[i];
    return found;
}

/* The color of each variant with its name, below the chart. The name comes from a user's option, so
 * html_text() escapes it. */
static void put_legend(struct html *h, const struct series *list, size_t count) {
    if (count < 2)
        return;
    html_put(h, "<p class=note>");
    for (size_t k = 0; k < count; k++) {
        html_put(h,
                 "<svg viewBox=\"0 0 10 10\" style=\"width:10px;height:10px;display:inline\"><g "
                 "class=\"p s%d dots\"><circle cx=5 cy=5 r=4 /></g></svg> ",
                 list[k].measured);
        html_text(h, list[k].study->variant);
        html_put(h, " &#160; ");
    }
    html_put(h, "</p>");
}

/* Fits the throughputs, and that of ranks which are as fast as in the first study's smallest
 * size. */
static void fit_rates(struct frame *f, const struct series *list, size_t count, double ideal) {
    f->y_low = INFINITY, f->y_high = log10(ideal);
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < list[k].count; i++)
            if (is_drawn(&list[k].rows[i])) {
                f->y_low = fmin(f->y_low, log_rate(&list[k].rows[i]));
                f->y_high = fmax(f->y_high, log_rate(&list[k].rows[i]));
            }
    f->y_low -= 0.1, f->y_high += 0.1;
}

/* Ticks are at 1, 2 and 5 of each decade, which are nearly equally far apart on a logarithmic
 * axis. */
static void put_rate_ticks(struct html *h, const struct frame *f) {
    for (int power = (int)floor(f->y_low); power <= (int)ceil(f->y_high); power++)
        for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
            char text[HTML_NUMBER_SIZE];
            const double value = digit * pow(10, power), at = log10(value);
            html_number(text, value);
            if (at >= f->y_low && at <= f->y_high)
                put_y_tick(h, f, at, text);
        }
}

/* The grey line begins at the first row of the first variant that has one. It ends at the most
 * ranks that are drawn, projected ones included. */
void scaling_chart_rate(struct html *h, const struct scaling_study *s) {
    struct frame f;
    struct series list[SCALING_STUDIES_MAX];
    const size_t count = list_series(s, list);
    const struct scaling_row *first = NULL;
    if (!fit_x(&f, list, count))
        return;
    for (size_t k = 0; k < count && first == NULL; k++)
        first = edge(&list[k], false);
    const int most = (int)lround(exp2(f.x_high));
    const double ideal = first->rate / first->ranks * most;
    fit_rates(&f, list, count, ideal);
    open_chart(h, "Throughput");
    put_rate_ticks(h, &f);
    html_put(h, "<text x=%d y=%d class=unit>", LEFT + 4, TOP + 2);
    html_text(h, s->unit);
    html_put(h, "</text>");
    put_x_axis(h, &f);
    html_put(h, "<path class=\"line ideal\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x_of(&f, first->ranks),
             y_of(&f, log_rate(first)), x_of(&f, most), y_of(&f, log10(ideal)));
    for (size_t k = 0; k < count; k++)
        put_series(h, &f, &list[k], log_rate, s->unit, false);
    html_put(h, "</svg>");
    put_legend(h, list, count);
    html_put(h, "<p class=note>Grey: each rank as fast as in the smallest size. Dashed: "
                "projected.</p></figure>");
}

/* The axis reaches above 100 % where larger sizes are faster a rank, such as by more memory for
 * caches. */
void scaling_chart_efficiency(struct html *h, const struct scaling_study *s) {
    struct frame f;
    struct series list[SCALING_STUDIES_MAX];
    const size_t count = list_series(s, list);
    if (!fit_x(&f, list, count))
        return;
    f.y_low = 0, f.y_high = 1.1;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < list[k].count; i++)
            if (is_drawn(&list[k].rows[i]))
                f.y_high = fmax(f.y_high, ceil(10 * list[k].rows[i].efficiency) / 10);
    open_chart(h, "Efficiency");
    for (int percent = 0; percent <= (int)(100 * f.y_high); percent += 20) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d %%", percent);
        put_y_tick(h, &f, percent / 100.0, text);
    }
    put_x_axis(h, &f);
    for (size_t k = 0; k < count; k++)
        put_series(h, &f, &list[k], efficiency, "%", true);
    html_put(h, "</svg>");
    put_legend(h, list, count);
    html_put(h, "</figure>");
}
