#include "common/scaling/scaling_page.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* A number, or nothing. */
static int add_cell(struct buf *out, double value, struct error *err) {
    return isfinite(value) ? buf_printf(out, err, ",%.9g", value) : buf_add_text(out, ",", err);
}

/* TEXT in quotes, which are doubled inside (RFC 4180). */
static int add_quoted(struct buf *out, const char *text, struct error *err) {
    if (buf_add_text(out, ",\"", err) != 0)
        return -1;
    for (; *text != '\0'; text++)
        if (buf_add(out, text, 1, err) != 0 || (*text == '"' && buf_add(out, text, 1, err) != 0))
            return -1;
    return buf_add_text(out, "\"", err);
}

static int add_header(const struct scaling_study *s, struct buf *out, struct error *err) {
    const struct price_table *t = s->prices;
    char name[PRICE_NAME_SIZE + 32];
    if (buf_add_text(out,
                     "kind,ranks,hosts,per_second,per_second_a_rank,efficiency,exposed,"
                     "start_seconds,training_seconds,failure,variant",
                     err) != 0)
        return -1;
    for (size_t k = 0; t != NULL && k < t->count; k++) {
        (void)snprintf(name, sizeof(name), "%s machines", t->list[k].name);
        if (add_quoted(out, name, err) != 0)
            return -1;
        (void)snprintf(name, sizeof(name), "%s %s", t->list[k].name, t->currency);
        if (add_quoted(out, name, err) != 0)
            return -1;
    }
    return buf_add_text(out, "\n", err);
}

static int add_line(const struct scaling_study *s, const struct scaling_row *r, struct buf *out,
                    struct error *err) {
    const struct scaling_point *p = r->point;
    const struct price_table *t = s->prices;
    const bool failed = p != NULL && !scaling_is_measured(p);
    const double none = (double)NAN;
    if (buf_printf(out, err, "%s,%d",
                   p == NULL ? "projected"
                   : failed  ? "failed"
                             : "measured",
                   r->ranks) != 0 ||
        add_cell(out, r->hosts > 0 ? r->hosts : none, err) != 0 ||
        add_cell(out, r->rate, err) != 0 || add_cell(out, r->rate / r->ranks, err) != 0 ||
        add_cell(out, r->efficiency, err) != 0 ||
        add_cell(out, p != NULL ? p->exposed : none, err) != 0 ||
        add_cell(out, p != NULL ? p->start_seconds : none, err) != 0 ||
        add_cell(out, r->seconds, err) != 0 ||
        add_quoted(out, failed ? p->failure : "", err) != 0 ||
        add_quoted(out, s->variant, err) != 0)
        return -1;
    for (size_t k = 0; t != NULL && k < t->count; k++)
        if (buf_printf(out, err, ",%d", price_machines(&t->list[k], r->ranks)) != 0 ||
            add_cell(out, price_of(&t->list[k], r->ranks, r->seconds), err) != 0)
            return -1;
    return buf_add_text(out, "\n", err);
}

int scaling_csv(const struct scaling_study *s, struct buf *out, struct error *err) {
    struct scaling_row rows[SCALING_ROWS_MAX];
    if (add_header(s, out, err) != 0)
        return -1;
    for (; s != NULL; s = s->next) {
        const size_t count = scaling_rows(s, rows);
        for (size_t i = 0; i < count; i++)
            if (add_line(s, &rows[i], out, err) != 0)
                return -1;
    }
    return 0;
}
