#include "trainer/app/comm_check/pair_verdict.h"

/* The RANKth fastest rate, from 0. Counted anew for each candidate: there are few pairs. */
static double fastest(const struct pair_result *pairs, size_t count, size_t rank) {
    for (size_t i = 0; i < count; i++) {
        const double rate = measurement_bus_rate(&pairs[i].transfer);
        size_t above = 0, same = 0;
        for (size_t k = 0; k < count && pairs[i].tested; k++) {
            const double other = measurement_bus_rate(&pairs[k].transfer);
            above += pairs[k].tested && other > rate;
            same += pairs[k].tested && other == rate;
        }
        if (pairs[i].tested && above <= rank && rank < above + same)
            return rate;
    }
    return 0;
}

void pair_verdict_judge(struct pair_result *pairs, size_t count) {
    size_t tested = 0;
    for (size_t i = 0; i < count; i++)
        tested += pairs[i].tested;
    const double good = fastest(pairs, count, tested / 4);
    for (size_t i = 0; i < count; i++) {
        struct pair_result *p = &pairs[i];
        if (!p->tested)
            continue;
        p->share = good > 0 ? measurement_bus_rate(&p->transfer) / good : 1;
        p->state = p->latency.wrong + p->transfer.wrong > 0 ? PAIR_WRONG
                   : p->share < PAIR_SLOW_SHARE             ? PAIR_SLOW
                                                            : PAIR_OK;
    }
}

int pair_verdict_host(const struct pair_result *pairs, size_t count, int hosts) {
    for (int host = 0; host < hosts; host++) {
        size_t own = 0, own_bad = 0, bad = 0;
        for (size_t i = 0; i < count; i++) {
            const bool mine = pairs[i].a == host || pairs[i].b == host;
            const bool is_bad = pairs[i].tested && pairs[i].state != PAIR_OK;
            own += pairs[i].tested && mine;
            own_bad += mine && is_bad;
            bad += is_bad;
        }
        if (own_bad >= 2 && own_bad == own && own_bad == bad)
            return host;
    }
    return -1;
}

const struct pair_result *pair_verdict_worst(const struct pair_result *pairs, size_t count) {
    const struct pair_result *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (pairs[i].tested && pairs[i].state != PAIR_OK &&
            (worst == NULL || pairs[i].state > worst->state ||
             (pairs[i].state == worst->state && pairs[i].share < worst->share)))
            worst = &pairs[i];
    return worst;
}

const char *pair_state_name(enum pair_state state) {
    static const char *const names[] = {"ok", "slow", "wrong"};
    return names[state];
}
