#include "common/cleanup.h"
#include "common/html/html.h"
#include "common/html/page_style.h"
#include "common/trials/trials_page.h"

#include <math.h>
#include <stdlib.h>

static void put_head(struct html *h, const struct trials_state *s) {
    const struct trials_plan *p = s->plan;
    html_put(h,
             "<div class=scroll><table><thead><tr><th class=n>place<th class=n>trial<th class=n>");
    html_text(h, p->metric);
    html_put(h, "<th>");
    if (s->seeds > 1)
        html_put(h, "<th class=n>±");
    if (p->rung_count > 1) {
        html_put(h, "<th class=n>");
        html_text(h, p->rung_flag);
    }
    html_put(h, trials_has_rates(s) ? "<th class=n>images/s<th class=n>time" : "<th class=n>time");
    for (size_t i = 0; i < p->axis_count; i++) {
        html_put(h, "<th>");
        html_text(h, p->axes[i].name);
    }
    html_put(h, "<th></tr></thead><tbody>");
}

/* The score as a bar between those of the worst and the best configuration. */
static void put_bar(struct html *h, const struct trials_row *r, double low, double high) {
    const double share = high > low ? (r->score - low) / (high - low) : 1;
    html_put(h, "<td class=bar>");
    if (r->rung >= 0)
        html_put(h,
                 "<svg viewBox=\"0 0 100 8\" preserveAspectRatio=none aria-hidden=true><rect "
                 "class=rail width=100 height=8 /><rect class=s0 width=%.1f height=8 /></svg>",
                 fmax(2, 100 * share));
}

static void put_row(struct html *h, const struct trials_state *s, size_t place, size_t config,
                    double low, double high) {
    const struct trials_plan *p = s->plan;
    struct trials_setting settings[TRIALS_AXES_MAX];
    struct trials_row r;
    trials_row(s, config, &r);
    trials_plan_config(p, config, settings);
    html_put(h, "<tr><td class=n>");
    if (r.rung >= 0)
        html_put(h, "%zu", place);
    else
        html_put(h, "–");
    html_put(h, "<td class=n>%zu<td class=n>", config);
    html_put_number(h, r.score);
    put_bar(h, &r, low, high);
    if (s->seeds > 1) {
        html_put(h, "<td class=n>");
        html_put_number(h, r.spread);
    }
    if (p->rung_count > 1) {
        html_put(h, "<td class=n>");
        html_put_number(h, r.rung >= 0 ? (double)p->rungs[r.rung] : (double)NAN);
    }
    if (trials_has_rates(s)) {
        html_put(h, "<td class=n>");
        html_put_number(h, r.rate);
    }
    html_put(h, "<td class=n>");
    html_put_duration(h, r.seconds);
    for (size_t i = 0; i < p->axis_count; i++) {
        html_put(h, "<td class=value>");
        html_text(h, settings[i].value);
    }
    html_put(h, "<td>");
    if (trials_why(s, config)[0] != '\0') {
        html_put(h, "<span class=bad>failed:</span> ");
        html_text(h, trials_why(s, config));
    }
    html_put(h, "</tr>");
}

static void put_rows(struct html *h, const struct trials_state *s, const size_t *ranking) {
    double low = (double)NAN, high = (double)NAN;
    for (size_t i = 0; i < s->plan->count; i++) {
        struct trials_row r;
        trials_row(s, i, &r);
        low = fmin(low, r.score);
        high = fmax(high, r.score);
    }
    put_head(h, s);
    for (size_t i = 0; i < s->plan->count; i++)
        put_row(h, s, i + 1, ranking[i], low, high);
    html_put(h, "</tbody></table></div>");
}

int trials_html(const struct trials_state *s, const char *program, struct buf *out,
                struct error *err) {
    cleanup_free size_t *ranking = calloc(s->plan->count, sizeof(*ranking));
    if (ranking == NULL)
        return error_no_memory(err, "a ranking");
    trials_state_ranking(s, ranking);
    cleanup_html struct html h;
    html_open(&h);
    page_head_open(&h, program, false);
    html_put(&h, "Trials");
    page_head_style(&h);
    html_put(&h,
             "</style></head>\n<body><main><h1>Trials</h1><section><p class=intro>%zu "
             "configurations; the %s ",
             s->plan->count, s->plan->smallest ? "smallest" : "largest");
    html_text(&h, s->plan->metric);
    html_put(&h, " is best.");
    for (size_t i = 0; i < s->plan->flag_count; i++) {
        html_put(&h, " --");
        html_text(&h, s->plan->flags[i].name);
        html_put(&h, " ");
        html_text(&h, s->plan->flags[i].value);
    }
    html_put(&h, "</p>");
    put_rows(&h, s, ranking);
    html_put(&h, "</section><footer>Made by %s.</footer></main></body></html>\n", program);
    return html_error(&h, err) != 0 ? -1 : buf_add(out, h.out.data, h.out.size, err);
}
