/* Checks that drawn numbers have the expected distribution. */
#ifndef TESTS_SUPPORT_DISTRIBUTION_H
#define TESTS_SUPPORT_DISTRIBUTION_H

#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>

static inline int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The share of numbers uniform in [LOW, HIGH] that are below X. */
static inline double uniform_share(double x, double low, double high) {
    return (x - low) / (high - low);
}

/* Kolmogorov-Smirnov test: the largest distance from the distribution. Numbers of the right
 * distribution exceed 1.95 / sqrt(n) once in a thousand times. */
static inline void check_distribution(double *values, int count,
                                      double (*share)(double, double, double), double low,
                                      double high) {
    double worst = 0;
    qsort(values, (size_t)count, sizeof(*values), ascending);
    for (int i = 0; i < count; i++) {
        double wanted = share(values[i], low, high);
        worst = fmax(
            worst, fmax(fabs(wanted - (double)i / count), fabs(wanted - (double)(i + 1) / count)));
    }
    CU_ASSERT(worst < 1.95 / sqrt(count));
}

#endif
