#include "common/scaling/scaling_page.h"
#include "common/str.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* The text has up to three parts: variants side by side, and for each its own table, the model in
 * words, and a table for each price. scaling_rows() and scaling_model_words() are shared with the
 * CSV and the page, so the three never differ.
 *
 * Columns have fixed widths, for reading in a terminal and in logs. What is unknown is "-", and a
 * size that failed has its reason in place of its figures. */

/* A share: a model that is further off on held-out sizes comes with a warning. One that is off by
 * more than USELESS in common/scaling/scaling.c projects nothing. */
static const double UNRELIABLE = 0.2;

/* Measured sizes first, then projected ones, even if a projection is smaller than a measured size.
 * Where the model refuses (scaling_refusal), there are no projected rows at all. A row is plain
 * data: each of the three reports formats it in its own way. */
size_t scaling_rows(const struct scaling_study *s, struct scaling_row ret[SCALING_ROWS_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct scaling_point *p = &s->points[i];
        ret[count++] = (struct scaling_row){p->ranks,
                                            p->hosts,
                                            p,
                                            p->rate,
                                            scaling_efficiency(s, p->rate, p->ranks),
                                            scaling_seconds(s, p->rate, p->start_seconds)};
    }
    for (size_t i = 0; i < s->projected_count; i++) {
        const int ranks = s->projected[i];
        const double rate = scaling_projected_rate(s, ranks);
        /* The model gives no rate for a size for which it projects none. */
        if (isfinite(rate))
            ret[count++] = (struct scaling_row){ranks,
                                                0,
                                                NULL,
                                                rate,
                                                scaling_efficiency(s, rate, ranks),
                                                scaling_seconds(s, rate, scaling_start(s))};
    }
    return count;
}

/* Two units at most: nobody reads seconds of a training that takes hours. Beyond 1,000 hours it is
 * days. The cap keeps a nonsensical time within the buffer. */
void scaling_duration(char ret[SCALING_DURATION_SIZE], double seconds) {
    if (!isfinite(seconds) || seconds < 0)
        (void)snprintf(ret, SCALING_DURATION_SIZE, "-");
    else if (seconds < 60)
        (void)snprintf(ret, SCALING_DURATION_SIZE, "%.1f s", seconds);
    else if (seconds < 3600)
        (void)snprintf(ret, SCALING_DURATION_SIZE, "%d min %02d s", (int)(seconds / 60),
                       (int)fmod(seconds, 60));
    else if (seconds < 1000.0 * 3600)
        (void)snprintf(ret, SCALING_DURATION_SIZE, "%d h %02d min", (int)(seconds / 3600),
                       (int)fmod(seconds / 60, 60));
    else
        (void)snprintf(ret, SCALING_DURATION_SIZE, "%.0f days", fmin(seconds / 86400, 1e15));
}

/* A share as "98.5 %"; "-" for NaN. Returns RET, so that it fits into an argument list. */
static const char *percent(char ret[SCALING_DURATION_SIZE], double share) {
    if (isfinite(share))
        (void)snprintf(ret, SCALING_DURATION_SIZE, "%.1f %%", 100 * share);
    else
        (void)snprintf(ret, SCALING_DURATION_SIZE, "-");
    return ret;
}

/* Projected rows have no hosts, since it is not known how they would be spread. Of measured ones
 * the number is unknown in some jobs. */
static int add_hosts(struct buf *out, int hosts, struct error *err) {
    return hosts > 0 ? buf_printf(out, err, " %6d", hosts) : buf_printf(out, err, " %6s", "-");
}

/* A failed size ends after its reason, which may be longer than the table is wide. Projected rows
 * have neither an exposed share nor a start, which are measured only. */
static int add_row(struct buf *out, const struct scaling_row *r, struct error *err) {
    char efficiency[SCALING_DURATION_SIZE], exposed[SCALING_DURATION_SIZE];
    char start[SCALING_DURATION_SIZE], whole[SCALING_DURATION_SIZE];
    if (buf_printf(out, err, "%6d", r->ranks) != 0 || add_hosts(out, r->hosts, err) != 0)
        return -1;
    if (r->point != NULL && !scaling_is_measured(r->point))
        return buf_printf(out, err, "  failed: %s\n", r->point->failure);
    scaling_duration(start, r->point != NULL ? r->point->start_seconds : (double)NAN);
    scaling_duration(whole, r->seconds);
    (void)percent(exposed, r->point != NULL ? r->point->exposed : (double)NAN);
    return buf_printf(out, err, " %12.1f %10.2f %11s %9s %10s %14s%s\n", r->rate,
                      r->rate / r->ranks, percent(efficiency, r->efficiency), exposed, start, whole,
                      r->point == NULL ? "  projected" : "");
}

/* Prices need the length of a whole training, so a study without a total has none. Each price is
 * for a machine of so many ranks, and a machine counts as a whole (price_table.h). Rows of unknown
 * length, such as failed sizes, are left out. */
static int add_prices(const struct scaling_study *s, const struct scaling_row *rows, size_t count,
                      struct buf *out, struct error *err) {
    const struct price_table *t = s->prices;
    if (t == NULL || !isfinite(s->total))
        return 0;
    for (size_t k = 0; k < t->count; k++) {
        const struct price *p = &t->list[k];
        if (buf_printf(out, err, "\n%s: %d rank%s, %.2f %s an hour\n%6s %9s %14s %14s\n", p->name,
                       p->ranks, STR_PLURAL(p->ranks), p->per_hour, t->currency, "ranks",
                       "machines", "training", t->currency) != 0)
            return -1;
        for (size_t i = 0; i < count; i++) {
            char whole[SCALING_DURATION_SIZE];
            scaling_duration(whole, rows[i].seconds);
            if (isfinite(rows[i].seconds) &&
                buf_printf(out, err, "%6d %9d %14s %14.2f%s\n", rows[i].ranks,
                           price_machines(p, rows[i].ranks), whole,
                           price_of(p, rows[i].ranks, rows[i].seconds),
                           rows[i].point == NULL ? "  projected" : "") != 0)
                return -1;
        }
    }
    return 0;
}

/* Every figure of the model is named in the words, so that a reader can compute a projection by
 * hand. The hidden time is that of a step: the model keeps it for one sample a rank. */
static int add_form(const struct scaling_study *s, struct buf *out, struct error *err) {
    const struct scaling_comm *c = &s->comm;
    char hidden[SCALING_DURATION_SIZE];
    switch (s->model.form) {
    case SCALING_MEASURED:
        (void)snprintf(hidden, sizeof(hidden), "%.3f ms", 1e3 * s->model.hidden * s->comm.per_step);
        return buf_printf(
            out, err,
            "Model: the step of %d rank%s, and its sums of %.1f MB in %.0f bucket%s: "
            "%.1f us each for a doubling of the ranks and %.2f GB/s (measured among "
            "up to %d ranks), of which computation hides %s; beyond that a step grows by %.1f %% "
            "with each doubling.\n",
            s->model.base.ranks, STR_PLURAL(s->model.base.ranks), c->bytes / 1e6, c->buckets,
            STR_PLURAL((int)c->buckets), 1e6 * c->latency, c->byte > 0 ? 1e-9 / c->byte : INFINITY,
            c->ranks, hidden, 100 * s->model.slope / s->model.base.seconds);
    case SCALING_LATENCY:
    case SCALING_RING:
        return buf_printf(out, err,
                          "Model: the step of %d rank%s, and a part that grows with %s, fitted to "
                          "the measured sizes.\n",
                          s->model.base.ranks, STR_PLURAL(s->model.base.ranks),
                          s->model.form == SCALING_LATENCY
                              ? "the logarithm of the ranks"
                              : "the bytes that a ring of so many ranks sends");
    case SCALING_NO_MODEL:
        break;
    }
    return 0;
}

/* What is known of cores that ranks share: the most crowded size, if any has more threads than
 * cores. Without it a reader would take the slower steps for the cost of communication. */
static int add_crowd(const struct scaling_study *s, struct buf *out, struct error *err) {
    double most = 1;
    int ranks = 0;
    for (size_t i = 0; i < s->count; i++)
        if (scaling_is_measured(&s->points[i]) && scaling_crowd(s, &s->points[i]) > most) {
            most = scaling_crowd(s, &s->points[i]);
            ranks = s->points[i].ranks;
        }
    return ranks == 0 ? 0
                      : buf_printf(out, err,
                                   "With %d ranks there were up to %.3g compute threads a core, of "
                                   "%d cores a host: a rank is taken to compute so much longer "
                                   "there. Projections have as many cores a rank as the smallest "
                                   "size.\n",
                                   ranks, most, s->cores);
}

/* Only where projections were asked for. With "none" nothing is missing that would need a
 * reason. */
static int add_refusal(const struct scaling_study *s, struct buf *out, struct error *err) {
    const char *why = s->projected_count > 0 ? scaling_refusal(s) : NULL;
    return why != NULL ? buf_printf(out, err, "Not projected: %s.\n", why) : 0;
}

/* What the reader of a projection has to know: a large error of the model, and a network that was
 * never used. One host shows nothing of what a second one costs, however well the model fits. */
static int add_caution(const struct scaling_study *s, struct buf *out, struct error *err) {
    /* A size that never started has hosts 0, which is not one host. */
    bool one_host = true;
    for (size_t i = 0; i < s->count; i++)
        one_host = one_host && s->points[i].hosts == 1;
    if (scaling_refusal(s) != NULL)
        return 0;
    if (fabs(s->check.error) > UNRELIABLE &&
        buf_add_text(out, "An error of that size makes its projections unreliable.\n", err) != 0)
        return -1;
    return one_host && s->projected_count > 0
               ? buf_add_text(out,
                              "All ranks were on one host: what connects hosts was not "
                              "measured.\n",
                              err)
               : 0;
}

/* The error is that of the worst held-out size, not a mean, which would hide it. Above 0 the
 * measured throughput is lower than the model's. */
static int add_check(const struct scaling_study *s, struct buf *out, struct error *err) {
    if (s->check.fitted == 0)
        return buf_add_text(out,
                            "Its error is not known: that takes three sizes or more, of which the "
                            "larger ones are held out.\n",
                            err);
    return buf_printf(out, err,
                      "Fitted up to %d rank%s alone, it is off by %+.1f %% of the measured "
                      "throughput at %d ranks, the worst of %d held-out size%s.\n",
                      s->check.fitted, STR_PLURAL(s->check.fitted), 100 * s->check.error,
                      s->check.worst, s->check.held_out, STR_PLURAL(s->check.held_out));
}

/* The order is that of a reader's questions: what it is, what it assumes, how far it was off, and
 * what that means for its projections. Without a model there is only the reason for it. */
int scaling_model_words(const struct scaling_study *s, struct buf *out, struct error *err) {
    if (s->model.form == SCALING_NO_MODEL)
        return add_refusal(s, out, err);
    return add_form(s, out, err) != 0 || add_crowd(s, out, err) != 0 ||
                   add_check(s, out, err) != 0 || add_refusal(s, out, err) != 0
               ? -1
               : add_caution(s, out, err);
}

/* The figures of a variant by itself. A blank line parts the table from the words, where there are
 * any. The model or its refusal follows the table after a blank line. */
static int add_study(const struct scaling_study *s, struct buf *out, struct error *err) {
    struct scaling_row rows[SCALING_ROWS_MAX];
    const size_t count = scaling_rows(s, rows);
    if (buf_printf(out, err, "\n%s%s%6s %6s %12s %10s %11s %9s %10s %14s\n", s->variant,
                   s->variant[0] != '\0' ? "\n" : "", "ranks", "hosts", s->unit, "a rank",
                   "efficiency", "exposed", "start-up", "training") != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (add_row(out, &rows[i], err) != 0)
            return -1;
    if ((s->model.form != SCALING_NO_MODEL || s->projected_count > 0) &&
        buf_add_text(out, "\n", err) != 0)
        return -1;
    return scaling_model_words(s, out, err) != 0 ? -1 : add_prices(s, rows, count, out, err);
}

/* NaN for a size that a variant did not measure; the table then says "failed". POINT may lie beyond
 * the sizes of a variant that a stop ended early. */
static double rate_at(const struct scaling_study *s, size_t point) {
    return point < s->count && scaling_is_measured(&s->points[point]) ? s->points[point].rate
                                                                      : (double)NAN;
}

/* Variants side by side: throughput, and in relation to the first one's. All studies of a chain
 * have the same sizes, so a row is one index in each of them. A share of a size at which the first
 * one failed is unknown. */
static int add_comparison(const struct scaling_study *s, struct buf *out, struct error *err) {
    if (buf_printf(out, err, "\n%6s", "ranks") != 0)
        return -1;
    for (const struct scaling_study *one = s; one != NULL; one = one->next)
        if (buf_printf(out, err, " %20s", one->variant) != 0)
            return -1;
    for (size_t i = 0; i < s->count; i++) {
        if (buf_printf(out, err, "\n%6d", s->points[i].ranks) != 0)
            return -1;
        for (const struct scaling_study *one = s; one != NULL; one = one->next) {
            char share[SCALING_DURATION_SIZE];
            const double rate = rate_at(one, i);
            if ((isfinite(rate) ? buf_printf(out, err, " %9.1f (%8s)", rate,
                                             percent(share, rate / rate_at(s, i)))
                                : buf_printf(out, err, " %20s", "failed")) != 0)
                return -1;
        }
    }
    return buf_printf(out, err, "\n(%s, in relation to %s)\n", s->unit, s->variant);
}

/* The first study of the chain has the job and the place of all. Nothing is appended for a variant
 * that measured nothing but the rows with its failures. */
int scaling_text(const struct scaling_study *s, struct buf *out, struct error *err) {
    if (buf_printf(out, err, "%s\n%s\n", s->job, s->place) != 0 ||
        (s->next != NULL && add_comparison(s, out, err) != 0))
        return -1;
    for (; s != NULL; s = s->next)
        if (add_study(s, out, err) != 0)
            return -1;
    return 0;
}
