/* Histogram of floats with bins of equal relative width. There are eight bins to a power of two,
 * for values of either sign. Values nearer to zero than HISTOGRAM_LEAST share one bin with it,
 * those beyond HISTOGRAM_MOST the outermost ones. Values that are not finite are left out. */
#ifndef TRAINER_TELEMETRY_HISTOGRAM_H
#define TRAINER_TELEMETRY_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_LEAST 0x1p-40F
#define HISTOGRAM_MOST 0x1p24F

enum { HISTOGRAM_SIDE = 8 * (40 + 24) }; /* bins of one sign */
enum { HISTOGRAM_BINS = 2 * HISTOGRAM_SIDE + 1 };

struct histogram {
    uint64_t bins[HISTOGRAM_BINS]; /* in ascending order; the middle one has zero */
    uint64_t count;                /* of finite values */
    double min, max, sum, squares; /* of these; 0 without any */
};

/* Adds COUNT values, every STRIDE-th of VALUES, each times SCALE. */
void histogram_add(struct histogram *h, const float *values, size_t count, size_t stride,
                   float scale);

/* Fills the upper limit and the count of each bin from the first to the last with a value, and
 * before them an empty one that ends where the first begins. Returns how many, 0 without values. */
size_t histogram_bins(const struct histogram *h, double limits[HISTOGRAM_BINS],
                      double counts[HISTOGRAM_BINS]);

#endif
