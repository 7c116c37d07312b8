#include "tests/support/unit.h"
#include "trainer/telemetry/histogram.h"

#include <math.h>
#include <stdbool.h>

static void bins_meet_and_hold_their_values(void) {
    static const float values[] = {-3,   -1e-20F, 0,     -0.0F, 1e-13F, 0.125F, 0.140F,
                                   0.5F, 1,       1.99F, 1e6F,  1e30F,  -1e30F};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    struct histogram h = {0};
    double limits[HISTOGRAM_BINS], counts[HISTOGRAM_BINS];
    double total = 0;
    histogram_add(&h, values, COUNT, 1, 1);
    const size_t bins = histogram_bins(&h, limits, counts);
    CU_ASSERT_EQUAL(h.count, COUNT);
    CU_ASSERT_EQUAL(h.min, (double)-1e30F);
    CU_ASSERT_EQUAL(h.max, (double)1e30F);
    CU_ASSERT_FATAL(bins > 0);
    for (size_t i = 0; i < bins; i++) {
        int within = 0;
        CU_ASSERT(i == 0 || limits[i] > limits[i - 1]);
        for (size_t k = 0; k < COUNT; k++) {
            const double value = (double)values[k];
            const double low = i == 0 ? -INFINITY : limits[i - 1];
            /* A bin of positive values has its lower limit, one of negative ones its upper. */
            within +=
                value > 0 ? value >= low && value < limits[i] : value > low && value <= limits[i];
        }
        const bool outermost = i == bins - 1;
        CU_ASSERT_EQUAL(counts[i], within + (outermost ? 1 : 0));
        total += counts[i];
    }
    CU_ASSERT_EQUAL(total, COUNT);
}

static void what_is_not_finite_is_left_out(void) {
    static const float values[] = {NAN, INFINITY, -INFINITY, 2, 5};
    struct histogram h = {0};
    double limits[HISTOGRAM_BINS], counts[HISTOGRAM_BINS];
    histogram_add(&h, values, 3, 1, 1);
    CU_ASSERT_EQUAL(histogram_bins(&h, limits, counts), 0);
    histogram_add(&h, values, 5, 1, 0.5F);
    CU_ASSERT_EQUAL(h.count, 2);
    CU_ASSERT_EQUAL(h.min, 1);
    CU_ASSERT_EQUAL(h.max, 2.5);
    CU_ASSERT_EQUAL(h.sum, 3.5);
    CU_ASSERT_EQUAL(h.squares, 7.25);
}

static void values_are_taken_at_a_stride(void) {
    static const float values[] = {1, 9, 9, 2, 9, 9, 3};
    struct histogram h = {0};
    histogram_add(&h, values, 3, 3, 1);
    CU_ASSERT_EQUAL(h.count, 3);
    CU_ASSERT_EQUAL(h.sum, 6);
}

UNIT_SUITE("telemetry.histogram", UNIT(bins_meet_and_hold_their_values),
           UNIT(what_is_not_finite_is_left_out), UNIT(values_are_taken_at_a_stride))
