#include "trainer/optim/schedule.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

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

double schedule_rate(const struct schedule *s, int64_t step) {
    if (step >= s->total_steps)
        step = s->total_steps - 1;
    if (step < s->warmup_steps)
        return warm_up(s, step) * past_milestones(s, step);

    double t = (double)(step - s->warmup_steps) / (double)(s->total_steps - s->warmup_steps);
    switch (s->kind) {
    case SCHEDULE_STEP:
        return s->peak * steps_down((double)step / (double)s->total_steps);
    case SCHEDULE_POLY2:
        return s->peak * (1.0 - t) * (1.0 - t);
    case SCHEDULE_COSINE:
        return s->peak * 0.5 * (1.0 + cos(PI * t));
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
