#include "entrypoint/outcome/straggler.h"

#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Reports arrive at any time and are only stored (straggler_put). Every few seconds
 * straggler_judge() sees whether a window is over. If it is, each rank's progress in the window
 * becomes a rate, which is compared with the median of the others. A median, unlike a mean, is not
 * moved by the straggler itself, nor by one rank that is far ahead.
 *
 * A window continues until it is long enough, all reports are fresh, and the median rank has made
 * enough steps. The room for the values is allocated once, with the attempt. */

/* Programs report their work in microseconds. */
enum { PERCENT = 100, MICROSECONDS = 1000000 };
/* A wait for data is mentioned if it takes more than a tenth of a step. */
enum { TELL_DATA = 10 };

/* Values of one rank in this window, which are compared. All are averages over the window. */
struct rate {
    double steps_per_second;
    double work; /* seconds a step; below 0: not reported */
    double data;
};

/* On failure straggler_done() frees what was allocated. */
int straggler_open(struct straggler *p, size_t ranks, struct error *err) {
    *p = (struct straggler){.count = ranks};
    p->ranks = calloc(ranks, sizeof(*p->ranks));
    bool whole = p->ranks != NULL;
    for (size_t i = 0; i < sizeof(p->sorted) / sizeof(p->sorted[0]); i++) {
        p->sorted[i] = calloc(ranks, sizeof(*p->sorted[i]));
        whole = whole && p->sorted[i] != NULL;
    }
    return whole ? 0 : error_no_memory(err, "ranks' progress");
}

void straggler_done(struct straggler *p) {
    free(p->ranks);
    for (size_t i = 0; i < sizeof(p->sorted) / sizeof(p->sorted[0]); i++)
        free(p->sorted[i]);
    *p = (struct straggler){0};
}

/* Ranks without a report since then have the same point at both ends, and no time between them. */
static void begin_window(struct straggler *p, int64_t now) {
    p->begun = now;
    for (size_t i = 0; i < p->count; i++)
        p->ranks[i].first = p->ranks[i].last;
}

/* A counter that went back belongs to another run, so this window has no values for the rank. */
void straggler_put(struct straggler *p, size_t rank, const struct straggler_point *point) {
    struct straggler_rank *r = &p->ranks[rank];
    bool back = point->step < r->last.step || point->work_us < r->last.work_us ||
                point->data_us < r->last.data_us;
    r->last = *point;
    if (r->first.at == 0 || back)
        r->first = *point;
}

/* Also of ranks that have ended since. */
uint64_t straggler_furthest(const struct straggler *p) {
    uint64_t furthest = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->ranks[i].last.step > furthest)
            furthest = p->ranks[i].last.step;
    return furthest;
}

/* --- one window ------------------------------------------------------------------------------- */

/* A rank that has ended, or has never reported, is neither judged nor a measure for others. */
static bool counts(const struct straggler *p, const bool *ended, size_t rank) {
    return !ended[rank] && p->ranks[rank].last.at != 0;
}

/* Returns false for a rank with no time between two reports. Work is only known of ranks that
 * report it and have made a step. */
static bool measure(const struct straggler_rank *r, struct rate *ret) {
    double seconds = (double)(r->last.at - r->first.at) / (double)CLOCK_SECOND;
    double steps = (double)(r->last.step - r->first.step);
    if (seconds <= 0)
        return false;
    *ret = (struct rate){.steps_per_second = steps / seconds, .work = -1};
    if (steps > 0 && r->last.work_us > 0 && r->first.work_us <= r->last.work_us) {
        ret->work = (double)(r->last.work_us - r->first.work_us) / steps / MICROSECONDS;
        ret->data = (double)(r->last.data_us - r->first.data_us) / steps / MICROSECONDS;
    }
    return true;
}

/* Values of all ranks that count in this window, each kind in ascending order. */
struct ranking {
    const double *values;
    size_t count;
};
struct window {
    struct ranking step, rate, work;
};

/* Ascending. Values are finite, as times and steps are checked before. */
static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct ranking rank_values(double *values, size_t count) {
    qsort(values, count, sizeof(*values), compare);
    return (struct ranking){values, count};
}

/* Fills the three arrays with the values of the ranks that count. Work may be known of fewer ranks
 * than steps are. */
static void survey(struct straggler *p, const bool *ended, struct window *ret) {
    size_t count = 0;
    size_t telling = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct rate rate;
        if (!counts(p, ended, i) || !measure(&p->ranks[i], &rate))
            continue;
        p->sorted[0][count] = (double)p->ranks[i].last.step;
        p->sorted[1][count++] = rate.steps_per_second;
        if (rate.work >= 0)
            p->sorted[2][telling++] = rate.work;
    }
    *ret = (struct window){.step = rank_values(p->sorted[0], count),
                           .rate = rank_values(p->sorted[1], count),
                           .work = rank_values(p->sorted[2], telling)};
}

/* The value at index AT once the rank's OWN value has been removed. AT is an index among the
 * others, in the sorted array that still has the own value. */
static double among_others(const struct ranking *r, double own, size_t at) {
    return r->values[own <= r->values[at] ? at + 1 : at];
}

/* The median of the others. Of the two middle values of an even number, the lower one blames less.
 */
static double lower_median(const struct ranking *r, double own) {
    return among_others(r, own, (r->count - 2) / 2);
}

/* For own times the upper of two middle values blames less. */
static double upper_median(const struct ranking *r, double own) {
    return among_others(r, own, (r->count - 1) / 2);
}

/* Returns true if the rank falls behind while no other rank waits for it. */
static bool drifts(const struct window *w, const struct rate *own) {
    return w->rate.count > 1 && own->steps_per_second * PERCENT <
                                    lower_median(&w->rate, own->steps_per_second) * STRAGGLER_SLOW;
}

/* A low rate alone may be an accident of the window; being steps behind shows that it lasts. */
static bool is_behind(const struct window *w, const struct straggler_rank *r,
                      const struct rate *own, struct straggler_finding *ret) {
    double step = (double)r->last.step;
    ret->behind = true;
    ret->seconds = own->steps_per_second > 0 ? 1 / own->steps_per_second : 0;
    ret->others = 1 / lower_median(&w->rate, own->steps_per_second);
    ret->others_count = w->rate.count - 1;
    return step + STRAGGLER_STEPS <= lower_median(&w->step, step);
}

/* The percentage of time in which the others wait for it. What it needs more than the others in one
 * step, times its steps in a second. 0 if work is not known. */
static double share(const struct window *w, const struct rate *own, struct straggler_finding *ret) {
    if (own->work < 0 || w->work.count < 2)
        return 0;
    ret->seconds = own->work;
    ret->data = own->data;
    ret->others = upper_median(&w->work, own->work);
    ret->others_count = w->work.count - 1;
    return (own->work - ret->others) * own->steps_per_second * PERCENT;
}

/* Returns true if RANK delays the others in this window, and sets by how much. Drifting is looked
 * at first: a rank that is behind is not waited for in every step. */
static bool look_at(const struct straggler *p, const struct window *w, size_t rank,
                    double *ret_weight, struct straggler_finding *ret) {
    const struct straggler_rank *r = &p->ranks[rank];
    struct rate own;
    *ret = (struct straggler_finding){.rank = rank, .step = r->last.step};
    if (!measure(r, &own))
        return false;
    *ret_weight = PERCENT;
    if (drifts(w, &own))
        return is_behind(w, r, &own, ret);
    *ret_weight = share(w, &own, ret);
    return *ret_weight >= STRAGGLER_SHARE;
}

/* --- all ranks ------------------------------------------------------------------------------- */

/* Returns true if all reports are recent. A host with a late report would look slow. The window
 * then continues until the next call. */
static bool all_are_fresh(const struct straggler *p, const bool *ended, int64_t now) {
    for (size_t i = 0; i < p->count; i++)
        if (counts(p, ended, i) &&
            now - p->ranks[i].last.at > STRAGGLER_FRESH_SECONDS * CLOCK_SECOND)
            return false;
    return true;
}

/* Returns true if the median rank has made enough steps. Too few steps say nothing: one that is
 * long would decide. */
static bool has_steps(const struct straggler *p, const struct window *w, int64_t now) {
    double seconds = (double)(now - p->begun) / (double)CLOCK_SECOND;
    return w->rate.count > 1 && w->rate.values[w->rate.count / 2] * seconds >= STRAGGLER_STEPS;
}

/* Finds the worst of the ranks that have delayed the others long enough; NULL: none. All ranks are
 * looked at in every window, since each has its count of windows in a row. */
static struct straggler_rank *find_worst(struct straggler *p, const bool *ended,
                                         const struct window *w, struct straggler_finding *ret) {
    struct straggler_rank *worst = NULL;
    double most = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct straggler_finding finding;
        struct straggler_rank *r = &p->ranks[i];
        /* The percentage that the rank costs the others; a rank that drifts weighs most. */
        double weight = 0;
        bool holds = counts(p, ended, i) && look_at(p, w, i, &weight, &finding);
        r->windows = holds ? r->windows + 1 : 0;
        if (r->windows < STRAGGLER_WINDOWS || r->reported || weight <= most)
            continue;
        worst = r;
        most = weight;
        *ret = finding;
    }
    return worst;
}

/* One rank at most is reported per window. After STRAGGLER_REPORTED_MAX of them the rest of the job
 * is silent. */
bool straggler_judge(struct straggler *p, const bool *ended, int64_t now,
                     struct straggler_finding *ret) {
    struct window window;
    if (p->begun == 0)
        begin_window(p, now);
    if (now - p->begun < STRAGGLER_WINDOW_SECONDS * CLOCK_SECOND || !all_are_fresh(p, ended, now))
        return false;
    survey(p, ended, &window);
    if (!has_steps(p, &window, now))
        return false;
    struct straggler_rank *worst = find_worst(p, ended, &window, ret);
    begin_window(p, now);
    if (worst == NULL || p->reported == STRAGGLER_REPORTED_MAX)
        return false;
    p->reported++;
    worst->reported = true;
    return true;
}

/* Three sentences: one that is slow, one that stands, and one that the others wait for. */
void straggler_describe(const struct straggler_finding *f, char text[STRAGGLER_TEXT_SIZE]) {
    char data[64] = "";
    if (f->behind && f->seconds > 0)
        (void)snprintf(text, STRAGGLER_TEXT_SIZE,
                       "rank %zu is behind: step %" PRIu64 ", one in %.3g s, the other %zu one in "
                       "%.3g s (median)",
                       f->rank, f->step, f->seconds, f->others_count, f->others);
    else if (f->behind)
        (void)snprintf(text, STRAGGLER_TEXT_SIZE,
                       "rank %zu is behind: it stands at step %" PRIu64
                       ", the other %zu make one in %.3g s (median)",
                       f->rank, f->step, f->others_count, f->others);
    else {
        if (f->data * TELL_DATA >= f->seconds)
            (void)snprintf(data, sizeof(data), ", %.3g s of it for data", f->data);
        (void)snprintf(text, STRAGGLER_TEXT_SIZE,
                       "the others wait for rank %zu: a step takes %.3g s of its own time%s, and "
                       "%.3g s of the other %zu's (median)",
                       f->rank, f->seconds, data, f->others, f->others_count);
    }
}
