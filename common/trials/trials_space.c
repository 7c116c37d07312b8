#include "common/trials/trials_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* splitmix64 (Steele et al. 2014): a draw depends on seed, configuration and axis alone. */
static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* 0 <= share < 1 */
static double draw(const struct trials_plan *p, size_t at, size_t axis) {
    const uint64_t bits = mix(mix(mix(p->draw_seed) + at) + axis);
    return (double)(bits >> 11) * 0x1p-53;
}

static void draw_value(const struct trials_axis *a, double share, char ret[TRIALS_VALUE_SIZE]) {
    switch (a->kind) {
    case TRIALS_CHOICE:
        memcpy(ret, a->values[(size_t)(share * (double)a->count)], TRIALS_VALUE_SIZE);
        break;
    case TRIALS_UNIFORM:
        (void)snprintf(ret, TRIALS_VALUE_SIZE, "%.4g", a->low + share * (a->high - a->low));
        break;
    case TRIALS_LOG:
        (void)snprintf(ret, TRIALS_VALUE_SIZE, "%.4g", a->low * pow(a->high / a->low, share));
        break;
    case TRIALS_INTEGER:
        (void)snprintf(ret, TRIALS_VALUE_SIZE, "%.0f",
                       floor(a->low + share * (floor(a->high) - a->low + 1)));
        break;
    }
}

void trials_plan_config(const struct trials_plan *p, size_t at,
                        struct trials_setting ret[TRIALS_AXES_MAX]) {
    size_t rest = at;
    for (size_t i = p->axis_count; i-- > 0;) {
        const struct trials_axis *a = &p->axes[i];
        memcpy(ret[i].name, a->name, sizeof(ret[i].name));
        if (p->random) {
            draw_value(a, draw(p, at, i), ret[i].value);
            continue;
        }
        /* The last axis of a grid changes first. */
        memcpy(ret[i].value, a->values[rest % a->count], TRIALS_VALUE_SIZE);
        rest /= a->count;
    }
}
