#include "common/scaling/scaling.h"

#include "common/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A study is filled in three steps: the sizes and projections are parsed, each measured size is
 * added by scaling_add(), and scaling_conclude() fits the model once. Everything else only reads
 * it, so that text, CSV and page (scaling_page.h) show the same figures.
 *
 * Unknown figures are NaN rather than a flag beside each number: sums and quotients stay unknown by
 * themselves, and the reports print "-" for them. */

/* Characters of a number of ranks in a list, with the NUL. */
enum { NUMBER_SIZE = 16 };

/* Sizes are alike if their threads a core differ by less than that. */
static const double ALIKE = 1.05;
/* An error, as a share, with which a model is not worth its name. */
static const double USELESS = 0.5;

/* MOST is the limit that the caller has: the ranks of the job, or SCALING_RANKS_MAX. */
static int refuse(const char *text, int most, struct error *err) {
    return error_set(err, EXIT_CODE_USAGE,
                     "'%.64s': expected ascending numbers of ranks from 1 to %d, as in 1,2,4", text,
                     most);
}

/* The whole text is quoted in each error, not just the word, as the order of the numbers may be
 * what is wrong. RET may be filled in part on failure. */
int scaling_parse_sizes(const char *text, int most, int *ret, size_t room, struct error *err) {
    size_t count = 0;
    for (const char *at = text;; at++) {
        char word[NUMBER_SIZE];
        int64_t value = 0;
        const size_t size = strcspn(at, ",");
        if (size >= sizeof(word))
            return refuse(text, most, err);
        memcpy(word, at, size);
        word[size] = '\0';
        if (str_parse_int(word, 1, most, &value, NULL) != 0 ||
            (count > 0 && value <= ret[count - 1]))
            return refuse(text, most, err);
        if (count == room)
            return error_set(err, EXIT_CODE_USAGE, "'%.64s': at most %zu sizes are taken", text,
                             room);
        ret[count++] = (int)value;
        at += size;
        if (*at == '\0')
            return (int)count;
    }
}

/* "n > 0" ends the loop where doubling would overflow. MOST itself need not be a power of two. */
size_t scaling_default_sizes(int most, int ret[SCALING_POINTS_MAX]) {
    size_t count = 0;
    for (int n = 1; n < most && n > 0; n *= 2)
        ret[count++] = n;
    ret[count++] = most;
    return count;
}

int scaling_sizes(const char *text, int most, int ret[SCALING_POINTS_MAX], size_t *ret_count,
                  struct error *err) {
    if (text == NULL) {
        *ret_count = scaling_default_sizes(most, ret);
        return 0;
    }
    const int count = scaling_parse_sizes(text, most, ret, SCALING_POINTS_MAX, err);
    if (count < 0)
        return error_wrap(err, "--ranks");
    *ret_count = (size_t)count;
    return 0;
}

/* "none" leaves the list empty, with which the reports say nothing of projections. */
int scaling_project(struct scaling_study *s, const char *text, struct error *err) {
    if (strcmp(text, "none") == 0)
        return 0;
    const int count =
        scaling_parse_sizes(text, SCALING_RANKS_MAX, s->projected, SCALING_PROJECTED_MAX, err);
    if (count < 0)
        return error_wrap(err, "--project");
    s->projected_count = (size_t)count;
    return 0;
}

/* The new point has no figures and no failure yet, so it is not measured; the caller fills it. */
struct scaling_point *scaling_add(struct scaling_study *s, int ranks, int hosts) {
    if (s->count == SCALING_POINTS_MAX)
        return NULL;
    struct scaling_point *p = &s->points[s->count++];
    *p = (struct scaling_point){.ranks = ranks,
                                .hosts = hosts,
                                .rate = (double)NAN,
                                .exposed = (double)NAN,
                                .start_seconds = (double)NAN};
    return p;
}

/* A size without a failure may still have no rate: its program ended well and printed no figure. */
bool scaling_is_measured(const struct scaling_point *p) {
    return p->failure[0] == '\0' && p->rate > 0 && isfinite(p->rate);
}

/* The point to which efficiency relates; NULL: none was measured. */
static const struct scaling_point *first_measured(const struct scaling_study *s) {
    for (size_t i = 0; i < s->count; i++)
        if (scaling_is_measured(&s->points[i]))
            return &s->points[i];
    return NULL;
}

/* The smallest size is 1 by definition. It need not be one rank, and one that failed is passed
 * over. */
double scaling_efficiency(const struct scaling_study *s, double rate, int ranks) {
    const struct scaling_point *first = first_measured(s);
    return first == NULL ? (double)NAN : rate / ranks / (first->rate / first->ranks);
}

double scaling_seconds(const struct scaling_study *s, double rate, double start) {
    return s->total / rate + (isfinite(start) ? start : 0);
}

/* fmax() prefers a number to NaN, so unknown times do not hide the known ones. */
double scaling_start(const struct scaling_study *s) {
    double longest = (double)NAN;
    for (size_t i = 0; i < s->count; i++)
        if (scaling_is_measured(&s->points[i]))
            longest = fmax(longest, s->points[i].start_seconds);
    return longest;
}

/* 1 where cores or ranks are unknown: the model then takes nothing for shared. */
double scaling_crowd(const struct scaling_study *s, const struct scaling_point *p) {
    if (s->cores < 1 || p->on_one < 1)
        return 1;
    return fmax(1, (double)p->on_one * (s->threads > 0 ? s->threads : 1) / s->cores);
}

/* How many sizes show the growth with the number of ranks apart from cores that they share. */
static int alike(const struct scaling_study *s) {
    int count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += scaling_is_measured(&s->points[i]) &&
                 scaling_crowd(s, &s->points[i]) <= fmax(1, s->model.base.crowd) * ALIKE;
    return count;
}

/* The reasons are ordered: without a model nothing else can be judged, and a model that was fitted
 * to crowded sizes cannot be tested by them. */
const char *scaling_refusal(const struct scaling_study *s) {
    if (s->model.form == SCALING_NO_MODEL)
        return "a model takes two measured sizes or more";
    if (alike(s) < 2)
        return "all sizes but the smallest have more threads than cores, so what more ranks cost "
               "apart from that was not measured";
    if (s->check.fitted > 0 && fabs(s->check.error) > USELESS)
        return "a model that is so far off on sizes which were measured says nothing of others";
    return NULL;
}

/* RANKS samples are done in the time of one sample a rank. */
double scaling_projected_rate(const struct scaling_study *s, int ranks) {
    return scaling_refusal(s) != NULL
               ? (double)NAN
               : ranks / scaling_model_seconds(&s->model, &s->comm, ranks, s->model.base.crowd);
}

/* The check is done first and into a structure of its own: it fits models to a part of the sizes,
 * and the one that stays is fitted to all of them. */
void scaling_conclude(struct scaling_study *s) {
    struct scaling_sample samples[SCALING_POINTS_MAX];
    size_t count = 0;
    /* Without the batch, the time of a step is that of one sample a rank. */
    for (size_t i = 0; i < s->count; i++)
        if (scaling_is_measured(&s->points[i]))
            samples[count++] =
                (struct scaling_sample){s->points[i].ranks, s->points[i].ranks / s->points[i].rate,
                                        scaling_crowd(s, &s->points[i])};
    struct scaling_comm *comm = &s->comm;
    if (comm->ranks > 0 && !(s->batch > 0))
        comm->ranks = 0; /* its seconds are those of a step, which the batch relates to samples */
    comm->per_step = comm->ranks > 0 ? s->batch : 1;
    scaling_check_held_out(&s->check, samples, count, comm);
    scaling_model_fit(&s->model, samples, count, comm);
}
