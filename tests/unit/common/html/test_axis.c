#include "common/html/axis.h"
#include "tests/support/unit.h"

#include <math.h>

static void ticks_are_round_and_enclose_the_data(void) {
    const struct chart_axis axis = axis_fit(0.13, 0.87, 4);
    char label[AXIS_LABEL_SIZE];
    CU_ASSERT_DOUBLE_EQUAL(axis.low, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(axis.high, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(axis.step, 0.2, 1e-12);
    CU_ASSERT_EQUAL(axis.ticks, 6);
    axis_label(&axis, 3, label);
    CU_ASSERT_STRING_EQUAL(label, "0.6");
    CU_ASSERT_DOUBLE_EQUAL(axis_share(&axis, 0.25), 0.25, 1e-12);
    CU_ASSERT(axis_share(&axis, 7) == 1 && axis_share(&axis, -7) == 0);
}

static void large_steps_have_short_labels(void) {
    char label[AXIS_LABEL_SIZE];
    struct chart_axis axis = axis_fit(0, 5000, 5);
    axis_label(&axis, 0, label);
    CU_ASSERT_STRING_EQUAL(label, "0");
    axis_label(&axis, 2, label);
    CU_ASSERT_STRING_EQUAL(label, "2k");
    axis = axis_fit(0, 3.2e6, 4);
    axis_label(&axis, 1, label);
    CU_ASSERT_STRING_EQUAL(label, "1M");
}

/* Equal values, and the largest that a file can have. */
static void any_bounds_make_an_axis(void) {
    const double values[] = {0, 1, -3, 1e-320, 1e-12, 1e12, 1e308, -1e308, 12345678};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        for (size_t k = i; k < sizeof(values) / sizeof(values[0]); k++) {
            const double low = fmin(values[i], values[k]), high = fmax(values[i], values[k]);
            const struct chart_axis axis = axis_fit(low, high, 4);
            CU_ASSERT(isfinite(axis.low) && isfinite(axis.high) && axis.low < axis.high);
            CU_ASSERT(axis.ticks >= 2 && axis.ticks <= AXIS_TICKS_MAX);
            const double share = axis_share(&axis, high);
            CU_ASSERT(share >= 0 && share <= 1);
        }
}

UNIT_SUITE("report.axis", UNIT(ticks_are_round_and_enclose_the_data),
           UNIT(large_steps_have_short_labels), UNIT(any_bounds_make_an_axis))
