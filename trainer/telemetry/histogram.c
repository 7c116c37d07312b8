#include "trainer/telemetry/histogram.h"

#include <math.h>
#include <string.h>

/* Of the float at HISTOGRAM_LEAST: exponent and the first three bits of the fraction. */
enum { FIRST = (127 - 40) << 3, SHIFT = 20 };

/* Returns the distance from the middle bin of a positive value. */
static int distance(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    const int at = (int)(bits >> SHIFT) - FIRST;
    return at < 0 ? 0 : at >= HISTOGRAM_SIDE ? HISTOGRAM_SIDE : at + 1;
}

/* Returns where the bin at a distance above 0 begins. */
static double begin_of(int at) {
    return ldexp(1 + (at - 1) % 8 / 8.0, (at - 1) / 8 - 40);
}

void histogram_add(struct histogram *h, const float *values, size_t count, size_t stride,
                   float scale) {
    for (size_t i = 0; i < count; i++) {
        const float value = values[i * stride] * scale;
        if (!isfinite(value))
            continue;
        const int at = distance(fabsf(value));
        h->bins[HISTOGRAM_SIDE + (value < 0 ? -at : at)]++;
        h->min = h->count == 0 || (double)value < h->min ? (double)value : h->min;
        h->max = h->count == 0 || (double)value > h->max ? (double)value : h->max;
        h->sum += (double)value;
        h->squares += (double)value * (double)value;
        h->count++;
    }
}

/* Returns the upper limit of bin I. */
static double limit_of(const struct histogram *h, int i) {
    const int at = i - HISTOGRAM_SIDE;
    return at < 0                    ? -begin_of(-at)
           : i == HISTOGRAM_BINS - 1 ? fmax(h->max, ldexp(1, 24))
                                     : begin_of(at + 1);
}

size_t histogram_bins(const struct histogram *h, double limits[HISTOGRAM_BINS],
                      double counts[HISTOGRAM_BINS]) {
    int first = 0, last = HISTOGRAM_BINS - 1;
    size_t count = 0;
    if (h->count == 0)
        return 0;
    while (h->bins[first] == 0)
        first++;
    while (h->bins[last] == 0)
        last--;
    for (int i = first > 0 ? first - 1 : 0; i <= last; i++, count++) {
        limits[count] = limit_of(h, i);
        counts[count] = (double)h->bins[i];
    }
    return count;
}
