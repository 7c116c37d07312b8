#include "common/scaling/scaling_model.h"

#include <math.h>

/* Everything here is least squares of relative errors: an error of 5 % counts the same at a step of
 * a millisecond and at one of a second. All models share one rule, that a fitted cost is never
 * below zero, because a negative one would promise that more ranks make a step faster.
 *
 * The order of a fit is: what was measured apart (scaling_comm_fit), what computation hides
 * (fit_hidden), and last the slope of what is left (fit_slope). Nothing here allocates, and the
 * same input gives the same model. */

/* Sizes below which nothing is held out. */
enum { CHECKED_LEAST = 3 };

/* Steps of a tree over RANKS: the term for latency. */
static double doublings(int ranks) {
    return log2(ranks);
}

/* How many times each rank sends all bytes in a ring: 0 for one rank, and nearly 2 for many. */
static double ring(int ranks) {
    return 2.0 * (ranks - 1) / ranks;
}

/* Least squares of relative errors, so that small messages count like large ones. */
int scaling_comm_fit(struct scaling_comm *comm, const struct scaling_reduce *list, size_t count) {
    double xx = 0, xy = 0, yy = 0, x = 0, y = 0;
    comm->ranks = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].ranks < 2 || !(list[i].seconds > 0))
            continue;
        const double one = doublings(list[i].ranks) / list[i].seconds;
        const double two = ring(list[i].ranks) * list[i].bytes / list[i].seconds;
        xx += one * one, xy += one * two, yy += two * two, x += one, y += two;
        comm->ranks = list[i].ranks > comm->ranks ? list[i].ranks : comm->ranks;
    }
    const double determinant = xx * yy - xy * xy;
    if (comm->ranks == 0 || !(determinant > 1e-12 * xx * yy)) {
        comm->ranks = 0;
        return -1;
    }
    comm->latency = (x * yy - y * xy) / determinant;
    comm->byte = (y * xx - x * xy) / determinant;
    /* A term below zero is noise: the other one explains the times alone. */
    if (comm->latency < 0)
        comm->latency = 0, comm->byte = y / yy;
    if (comm->byte < 0)
        comm->byte = 0, comm->latency = x / xx;
    return 0;
}

/* Latency counts once for each bucket, bytes once for all. 0 for one rank, in both terms. */
double scaling_comm_seconds(const struct scaling_comm *comm, int ranks) {
    return comm->buckets * comm->latency * doublings(ranks) +
           comm->byte * ring(ranks) * comm->bytes;
}

/* The base's own all-reduces are part of its measured time already, so only what is more counts.
 * What computation does not hide, for one sample a rank. */
static double visible(const struct scaling_model *m, const struct scaling_comm *comm, int ranks) {
    const double all =
        scaling_comm_seconds(comm, ranks) - scaling_comm_seconds(comm, m->base.ranks);
    return fmax(0, all / comm->per_step - m->hidden);
}

/* The time of computation alone, where CROWD threads share a core. */
static double computing(const struct scaling_model *m, double crowd) {
    return m->base.seconds * fmax(1, crowd) / fmax(1, m->base.crowd);
}

/* Each form is the base's own time and what more ranks add to it, so the base is always met
 * exactly. */
double scaling_model_seconds(const struct scaling_model *m, const struct scaling_comm *comm,
                             int ranks, double crowd) {
    const double own = computing(m, crowd);
    const double rest = m->slope * (doublings(ranks) - doublings(m->base.ranks));
    switch (m->form) {
    case SCALING_MEASURED:
        return own + visible(m, comm, ranks) + rest;
    case SCALING_LATENCY:
        return own + rest;
    case SCALING_RING:
        return own + m->slope * (ring(ranks) - ring(m->base.ranks));
    case SCALING_NO_MODEL:
        break;
    }
    return (double)NAN;
}

/* The sum of squared relative errors. Compares two models of the same samples; its absolute value
 * means nothing. */
static double misfit(const struct scaling_model *m, const struct scaling_comm *comm,
                     const struct scaling_sample *list, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double error =
            scaling_model_seconds(m, comm, list[i].ranks, list[i].crowd) / list[i].seconds - 1;
        sum += error * error;
    }
    return sum;
}

/* Fits the slope of what grows with TERM beyond the rest of the model. */
static void fit_slope(struct scaling_model *m, const struct scaling_comm *comm,
                      double (*term)(int ranks), const struct scaling_sample *list, size_t count) {
    double xx = 0, xy = 0;
    m->slope = 0;
    for (size_t i = 1; i < count; i++) {
        const double x = (term(list[i].ranks) - term(m->base.ranks)) / list[i].seconds;
        xx += x * x;
        xy += x *
              (1 - scaling_model_seconds(m, comm, list[i].ranks, list[i].crowd) / list[i].seconds);
    }
    m->slope = xx > 0 ? fmax(0, xy / xx) : 0;
}

/* The misfit has kinks in h and may have several minima: all of its range is tried. A search over
 * the only unknown that enters through max(), while the slope has a closed form for each value. The
 * tolerance keeps the smallest of equally good values. */
static void fit_hidden(struct scaling_model *m, const struct scaling_comm *comm,
                       const struct scaling_sample *list, size_t count) {
    enum { TRIALS = 1000 };
    struct scaling_model best = *m;
    double least = INFINITY;
    const double most = scaling_comm_seconds(comm, list[count - 1].ranks) / comm->per_step;
    for (int i = 0; i <= TRIALS; i++) {
        m->hidden = most * i / TRIALS;
        fit_slope(m, comm, doublings, list, count);
        const double now = misfit(m, comm, list, count);
        if (now < least - 1e-12)
            least = now, best = *m;
    }
    *m = best;
}

/* One size tells nothing about growth. The factor 0.999 decides near ties for the logarithm. */
void scaling_model_fit(struct scaling_model *m, const struct scaling_sample *list, size_t count,
                       const struct scaling_comm *comm) {
    *m = (struct scaling_model){.form = SCALING_NO_MODEL};
    if (count < 2)
        return;
    m->base = list[0];
    if (comm->ranks > 0) {
        m->form = SCALING_MEASURED;
        fit_hidden(m, comm, list, count);
        return;
    }
    struct scaling_model other = *m;
    m->form = SCALING_LATENCY;
    fit_slope(m, comm, doublings, list, count);
    other.form = SCALING_RING;
    fit_slope(&other, comm, ring, list, count);
    /* Two sizes fit both; the one that grows without end promises less. */
    if (misfit(&other, comm, list, count) < misfit(m, comm, list, count) * 0.999 - 1e-12)
        *m = other;
}

/* Large sizes are held out, not random ones, because a projection goes to larger sizes, too. The
 * error is one of throughput, so the quotient of times is the other way round. */
void scaling_check_held_out(struct scaling_check *c, const struct scaling_sample *list,
                            size_t count, const struct scaling_comm *comm) {
    struct scaling_model m;
    const size_t half = (count + 1) / 2;
    *c = (struct scaling_check){0};
    if (count < CHECKED_LEAST)
        return;
    scaling_model_fit(&m, list, half, comm);
    c->fitted = list[half - 1].ranks;
    c->held_out = (int)(count - half);
    for (size_t i = half; i < count; i++) {
        const double error =
            list[i].seconds / scaling_model_seconds(&m, comm, list[i].ranks, list[i].crowd) - 1;
        if (i == half || fabs(error) > fabs(c->error)) {
            c->error = error;
            c->worst = list[i].ranks;
        }
    }
}
