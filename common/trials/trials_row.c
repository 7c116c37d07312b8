#include "common/trials/trials_page.h"

#include <math.h>

const char *trials_why(const struct trials_state *s, size_t config) {
    for (size_t rung = 0; rung < s->plan->rung_count; rung++)
        for (size_t seed = 0; seed < s->seeds; seed++) {
            const struct trials_result *r = trials_state_at(s, rung, config, seed);
            if (r->outcome == TRIALS_FAILED)
                return r->why;
        }
    return "";
}

bool trials_has_rates(const struct trials_state *s) {
    const size_t all = s->plan->rung_count * s->plan->count * s->seeds;
    for (size_t i = 0; i < all; i++)
        if (s->results[i].outcome != TRIALS_MISSING && isfinite(s->results[i].rate))
            return true;
    return false;
}

/* The seeds of the last rung with a score. */
static void take_rung(const struct trials_state *s, size_t config, struct trials_row *ret) {
    double low = INFINITY, high = -INFINITY, rates = 0;
    for (size_t seed = 0; seed < s->seeds; seed++) {
        const struct trials_result *r = trials_state_at(s, (size_t)ret->rung, config, seed);
        low = fmin(low, r->metric);
        high = fmax(high, r->metric);
        rates += r->rate;
    }
    ret->spread = (high - low) / 2;
    ret->rate = rates / (double)s->seeds;
}

void trials_row(const struct trials_state *s, size_t config, struct trials_row *ret) {
    *ret = (struct trials_row){-1, (double)NAN, (double)NAN, (double)NAN, 0};
    for (size_t rung = 0; rung < s->plan->rung_count; rung++) {
        const double score = trials_state_score(s, rung, config);
        if (!isnan(score)) {
            ret->rung = (int)rung;
            ret->score = score;
        }
        for (size_t seed = 0; seed < s->seeds; seed++) {
            const struct trials_result *r = trials_state_at(s, rung, config, seed);
            ret->seconds += r->outcome != TRIALS_MISSING && isfinite(r->seconds) ? r->seconds : 0;
        }
    }
    if (ret->rung >= 0)
        take_rung(s, config, ret);
}
