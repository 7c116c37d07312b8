#include "trainer/optim/schedule.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* The one cycle. */
static const double RISE = 0.3, START_SHARE = 1.0 / 25, LAST_SHARE = 1.0 / 25 / 1e4;
static const double MOMENTUM_HIGH = 0.95, MOMENTUM_LOW = 0.85;

static double steps_down(double done) {
    if (done < 1.0 / 3.0)
        return 1.0;
    if (done < 2.0 / 3.0)
        return 0.1;
    return done < 8.0 / 9.0 ? 0.01 : 0.001;
}

static double past_milestones(const struct schedule *s, int64_t step) {
    double share = 1;
    if (s->kind != SCHEDULE_MILESTONES)
        return share;
    for (int i = 0; i < s->milestone_count && s->milestones[i] <= step; i++)
        share *= s->factor;
    return share;
}

static double warm_up(const struct schedule *s, int64_t step) {
    double done = (double)step / (double)s->warmup_steps;
    if (s->warmup_from > 0)
        return s->peak * (s->warmup_from + (1.0 - s->warmup_from) * done);
    return s->peak * (double)(step + 1) / (double)s->warmup_steps;
}

/* Along half a cosine, from FROM to TO as PART goes from 0 to 1. */
static double glide(double from, double to, double part) {
    return to + (from - to) / 2 * (cos(PI * part) + 1);
}

/* FIRST, then PEAK at the end of the rise, then LAST in the last step. */
static double one_cycle(const struct schedule *s, int64_t step, double first, double peak,
                        double last) {
    double rise = RISE * (double)s->total_steps - 1, end = (double)s->total_steps - 1;
    double at = (double)step;
    return at <= rise ? glide(first, peak, at / rise)
                      : glide(peak, last, (at - rise) / (end - rise));
}

static double linear_cosine(double t) {
    const double periods = 0.47, least = 1e-5;
    return (1 - t) * 0.5 * (1 + cos(2 * PI * periods * t)) + least;
}

static int64_t within(const struct schedule *s, int64_t step) {
    return step >= s->total_steps ? s->total_steps - 1 : step;
}

double schedule_momentum(const struct schedule *s, int64_t step, double momentum) {
    return s->kind == SCHEDULE_ONE_CYCLE
               ? one_cycle(s, within(s, step), MOMENTUM_HIGH, MOMENTUM_LOW, MOMENTUM_HIGH)
               : momentum;
}

double schedule_rate(const struct schedule *s, int64_t step) {
    step = within(s, step);
    if (step < s->warmup_steps)
        return warm_up(s, step) * past_milestones(s, step);

    double t = (double)(step - s->warmup_steps) / (double)(s->total_steps - s->warmup_steps);
    switch (s->kind) {
    case SCHEDULE_STEP:
        return s->peak * steps_down((double)step / (double)s->total_steps);
    case SCHEDULE_POLY2:
        return s->end + (s->peak - s->end) * (1.0 - t) * (1.0 - t);
    case SCHEDULE_COSINE:
        return glide(s->peak, s->end, t);
    case SCHEDULE_LINEAR_COSINE:
        return s->peak * linear_cosine(t);
    case SCHEDULE_ONE_CYCLE:
        return one_cycle(s, step, s->peak * START_SHARE, s->peak, s->peak * LAST_SHARE);
    case SCHEDULE_MILESTONES:
        return s->peak * past_milestones(s, step);
    case SCHEDULE_CONSTANT:
        break;
    }
    return s->peak;
}

double schedule_scale(double lr, int64_t batch, int64_t global_batch) {
    return batch > 0 ? lr * ((double)global_batch / (double)batch) : lr;
}
