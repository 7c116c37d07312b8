#include "common/scaling/scaling.h"

#include "common/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_SIZE = 16 };

/* Sizes are alike if their threads a core differ by less than that. */
static const double ALIKE = 1.05;
/* An error, as a share, with which a model is not worth its name. */
static const double USELESS = 0.5;

static int refuse(const char *text, int most, struct error *err) {
    return error_set(err, EXIT_CODE_USAGE,
                     "'%.64s': expected ascending numbers of ranks from 1 to %d, as in 1,2,4", text,
                     most);
}

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

bool scaling_is_measured(const struct scaling_point *p) {
    return p->failure[0] == '\0' && p->rate > 0 && isfinite(p->rate);
}

static const struct scaling_point *first_measured(const struct scaling_study *s) {
    for (size_t i = 0; i < s->count; i++)
        if (scaling_is_measured(&s->points[i]))
            return &s->points[i];
    return NULL;
}

double scaling_efficiency(const struct scaling_study *s, double rate, int ranks) {
    const struct scaling_point *first = first_measured(s);
    return first == NULL ? (double)NAN : rate / ranks / (first->rate / first->ranks);
}

double scaling_seconds(const struct scaling_study *s, double rate, double start) {
    return s->total / rate + (isfinite(start) ? start : 0);
}

double scaling_start(const struct scaling_study *s) {
    double longest = (double)NAN;
    for (size_t i = 0; i < s->count; i++)
        if (scaling_is_measured(&s->points[i]))
            longest = fmax(longest, s->points[i].start_seconds);
    return longest;
}

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

double scaling_projected_rate(const struct scaling_study *s, int ranks) {
    return scaling_refusal(s) != NULL
               ? (double)NAN
               : ranks / scaling_model_seconds(&s->model, &s->comm, ranks, s->model.base.crowd);
}

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
