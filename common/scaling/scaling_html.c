#include "common/html/page_style.h"
#include "common/scaling/scaling_chart.h"
#include "common/scaling/scaling_page.h"
#include "common/str.h"

#include <math.h>
#include <string.h>

static void put_duration(struct html *h, double seconds) {
    char text[SCALING_DURATION_SIZE];
    scaling_duration(text, seconds);
    html_put(h, "<td class=n>%s", isfinite(seconds) ? text : "–");
}

static void put_percent(struct html *h, double share) {
    html_put(h, "<td class=n>");
    html_put_share(h, share, true);
    if (isfinite(share))
        html_put(h, " %%");
}

static void put_row(struct html *h, const struct scaling_row *r) {
    html_put(h, "<tr><td class=n>%d<td class=n>", r->ranks);
    if (r->hosts > 0)
        html_put(h, "%d", r->hosts);
    else
        html_put(h, "–");
    if (r->point != NULL && !scaling_is_measured(r->point)) {
        html_put(h, "<td colspan=6><span class=bad>failed:</span> ");
        html_text(h, r->point->failure);
        html_put(h, "<td></tr>");
        return;
    }
    html_put(h, "<td class=n>");
    html_put_number(h, r->rate);
    html_put(h, "<td class=n>");
    html_put_number(h, r->rate / r->ranks);
    put_percent(h, r->efficiency);
    put_percent(h, r->point != NULL ? r->point->exposed : (double)NAN);
    put_duration(h, r->point != NULL ? r->point->start_seconds : (double)NAN);
    put_duration(h, r->seconds);
    html_put(h, "<td>%s</tr>", r->point == NULL ? "projected" : "");
}

static void put_table(struct html *h, const struct scaling_study *s, const struct scaling_row *rows,
                      size_t count) {
    html_put(
        h,
        "<section><h2>Sizes%s%s</h2><p class=intro>%sEfficiency is the throughput of a rank in "
        "relation to that of the smallest size; exposed communication, the share of a step "
        "that waits for other ranks.</p><div class=scroll><table><thead><tr><th class=n>ranks"
        "<th class=n>hosts<th class=n>",
        s->variant[0] != '\0' ? ": " : "", s->variant,
        isfinite(s->batch) ? "Each rank has the same batch at all sizes. " : "");
    html_text(h, s->unit);
    html_put(h, "<th class=n>a rank<th class=n>efficiency<th class=n>exposed<th class=n>start-up"
                "<th class=n>whole training<th></tr></thead><tbody>");
    for (size_t i = 0; i < count; i++)
        put_row(h, &rows[i]);
    html_put(h, "</tbody></table></div></section>");
}

static void put_model(struct html *h, const struct scaling_study *s) {
    cleanup_buf struct buf words;
    buf_init(&words, 4096);
    if (scaling_model_words(s, &words, NULL) != 0 || words.size == 0)
        return;
    html_put(h, "<section><h2>Model</h2>");
    /* A sentence a line. */
    char *kept = NULL;
    for (char *line = strtok_r(words.data, "\n", &kept); line != NULL;
         line = strtok_r(NULL, "\n", &kept)) {
        html_put(h, "<p>");
        html_text(h, line);
        html_put(h, "</p>");
    }
    html_put(h, "</section>");
}

static void put_machine(struct html *h, const struct price_table *t, const struct price *p,
                        const struct scaling_row *rows, size_t count) {
    html_put(h, "<h3>");
    html_text(h, p->name);
    html_put(h, "</h3><p class=intro>%d rank%s a machine, %.2f ", p->ranks, STR_PLURAL(p->ranks),
             p->per_hour);
    html_text(h, t->currency);
    html_put(h, " an hour</p><div class=scroll><table><thead><tr><th class=n>ranks"
                "<th class=n>machines<th class=n>whole training<th class=n>");
    html_text(h, t->currency);
    html_put(h, "<th></tr></thead><tbody>");
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(rows[i].seconds))
            continue;
        html_put(h, "<tr><td class=n>%d<td class=n>%d", rows[i].ranks,
                 price_machines(p, rows[i].ranks));
        put_duration(h, rows[i].seconds);
        html_put(h, "<td class=n>%.2f<td>%s</tr>", price_of(p, rows[i].ranks, rows[i].seconds),
                 rows[i].point == NULL ? "projected" : "");
    }
    html_put(h, "</tbody></table></div>");
}

static void put_prices(struct html *h, const struct scaling_study *s,
                       const struct scaling_row *rows, size_t count) {
    const struct price_table *t = s->prices;
    if (t == NULL || !isfinite(s->total))
        return;
    html_put(h, "<section><h2>Time and cost</h2><p class=intro>If a rank there is as fast as one "
                "here.</p>");
    for (size_t k = 0; k < t->count; k++)
        put_machine(h, t, &t->list[k], rows, count);
    html_put(h, "</section>");
}

/* The figures of a variant by itself. */
static void put_study(struct html *h, const struct scaling_study *s) {
    struct scaling_row rows[SCALING_ROWS_MAX];
    const size_t count = scaling_rows(s, rows);
    put_table(h, s, rows, count);
    put_model(h, s);
    put_prices(h, s, rows, count);
}

int scaling_html(const struct scaling_study *s, struct buf *out, struct error *err) {
    cleanup_html struct html h;
    html_open(&h);
    page_head_open(&h, s->program, false);
    html_put(&h, "Scaling report");
    page_head_style(&h);
    html_put(&h, ".ideal{stroke:var(--t5)}</style></head>\n<body><main><h1>Scaling report</h1>"
                 "<p class=words>");
    html_text(&h, s->job);
    html_put(&h, "<br><small>");
    html_text(&h, s->place);
    html_put(&h, "</small></p><section><div class=pair>");
    scaling_chart_rate(&h, s);
    scaling_chart_efficiency(&h, s);
    html_put(&h, "</div></section>");
    for (const struct scaling_study *one = s; one != NULL; one = one->next)
        put_study(&h, one);
    html_put(&h,
             "<footer>Made by %s. The numbers under the pointer are those of single points."
             "</footer></main></body></html>\n",
             s->program);
    return html_error(&h, err) != 0 ? -1 : buf_add(out, h.out.data, h.out.size, err);
}
