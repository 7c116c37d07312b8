#include "common/html/axis.h"

#include <math.h>
#include <stdio.h>

/* Returns 1, 2 or 5 times a power of ten, at least LEAST. */
static double round_step(double least) {
    static const double steps[] = {1, 2, 5};
    const double power = pow(10, floor(log10(least)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i] * power >= least * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

struct chart_axis axis_fit(double low, double high, int ticks) {
    const double most = 1e200; /* steps of larger numbers would overflow */
    low = fmax(-most, fmin(most, low));
    high = fmax(-most, fmin(most, high));
    if (!(high - low > fabs(high) * 1e-9) || high - low < 1e-200) {
        const double margin = high != 0 ? fabs(high) * 0.1 : 1;
        low -= low == 0 ? 0 : margin;
        high += margin;
    }
    const double step = round_step((high - low) / ticks);
    struct chart_axis axis = {.low = floor(low / step + 1e-9) * step,
                              .high = ceil(high / step - 1e-9) * step,
                              .step = step};
    const double count = round((axis.high - axis.low) / step) + 1;
    axis.ticks = count < 2 ? 2 : count > AXIS_TICKS_MAX ? AXIS_TICKS_MAX : (int)count;
    if (!(axis.high > axis.low))
        axis.high = axis.low + step;
    return axis;
}

double axis_tick(const struct chart_axis *axis, int tick) {
    const double value = axis->low + tick * axis->step;
    return fabs(value) < axis->step * 1e-6 ? 0 : value;
}

double axis_share(const struct chart_axis *axis, double value) {
    const double share = (value - axis->low) / (axis->high - axis->low);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

void axis_label(const struct chart_axis *axis, int tick, char ret[AXIS_LABEL_SIZE]) {
    const double value = axis_tick(axis, tick);
    if (axis->high >= 1e6 && axis->high < 1e12)
        (void)snprintf(ret, AXIS_LABEL_SIZE, value == 0 ? "0" : "%.4gM", value / 1e6);
    else if (axis->high >= 2000 && axis->high < 1e6)
        (void)snprintf(ret, AXIS_LABEL_SIZE, value == 0 ? "0" : "%.4gk", value / 1e3);
    else
        (void)snprintf(ret, AXIS_LABEL_SIZE, "%.5g", value);
}
