#include "tests/support/unit.h"
#include "trainer/app/comm_check/reference_rates.h"

#include <stdbool.h>
#include <string.h>

static void types_are_found_with_and_without_prefix(void) {
    const struct reference_rate *row = reference_rates_find("ml.p5.48xlarge", 128 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT_PTR_EQUAL(reference_rates_find("p5.48xlarge", 128 << 20), row);
    CU_ASSERT_PTR_NULL(reference_rates_find("p5.48xlarge", 129 << 20));
    CU_ASSERT_PTR_NULL(reference_rates_find("ml.m5.large", 8));
    CU_ASSERT_PTR_NULL(reference_rates_find("", 8));
}

/* Time and bandwidth of a row are of the same measurement: 8 GPUs a host. */
static void every_figure_agrees_with_its_time_and_has_a_source(void) {
    size_t count = 0;
    const struct reference_rate *rows = reference_rates(&count);
    for (size_t i = 0; i < count; i++) {
        const double ranks = 8.0 * rows[i].hosts;
        const double rate =
            (double)rows[i].bytes / (rows[i].microseconds * 1e-6) * 2 * (ranks - 1) / ranks / 1e9;
        CU_ASSERT_DOUBLE_EQUAL(rows[i].bus_rate, rate, 0.005 * rate + 0.01);
        CU_ASSERT(strstr(rows[i].source, " read 20") != NULL);
    }
}

UNIT_SUITE("app.comm_check.reference_rates", UNIT(types_are_found_with_and_without_prefix),
           UNIT(every_figure_agrees_with_its_time_and_has_a_source))
