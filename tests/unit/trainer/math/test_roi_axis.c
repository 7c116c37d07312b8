#include "tests/support/unit.h"
#include "trainer/math/roi_axis.h"

static const struct roi_rule plain = {.bins = 2, .sampling = 2};

static void two_samples_lie_at_a_quarter_and_three_quarters_of_a_bin(void) {
    /* Pixels 8 to 40 at half the size: 4 to 20 on the map, two bins of 8: samples at 6, 10, 14, 18.
     */
    struct roi_axis axis = roi_axis_between(8, 40, 0.5F, 100, &plain);
    struct bilinear_tap tap = {0};
    CU_ASSERT(axis.start == 4 && axis.bin == 8 && axis.grid == 2);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_FATAL(roi_axis_sample(&axis, i / 2, i % 2, &tap));
        CU_ASSERT(tap.low == 6 + 4 * i && tap.high == tap.low + 1 && tap.fraction == 0);
    }
    CU_ASSERT_EQUAL(roi_axis_weight(&axis, 1, 14), 0.5F);
    CU_ASSERT_EQUAL(roi_axis_weight(&axis, 1, 15), 0);
}

static void a_sample_between_two_pixels_is_shared(void) {
    struct roi_axis axis = roi_axis_between(0, 2, 1, 10, &plain);
    /* One bin a pixel: samples at 1/4 and 3/4, so pixel 0 weighs (3/4 + 1/4) / 2. */
    CU_ASSERT_EQUAL(roi_axis_weight(&axis, 0, 0), 0.5F);
    CU_ASSERT_EQUAL(roi_axis_weight(&axis, 0, 1), 0.5F);
    CU_ASSERT_EQUAL(roi_axis_weight(&axis, 1, 1), 0.5F);
    CU_ASSERT_EQUAL(roi_axis_weight(&axis, 1, 2), 0.5F);
}

static void a_region_is_a_pixel_at_least_unless_it_is_aligned(void) {
    struct roi_axis axis = roi_axis_between(3, 3.5F, 1, 10, &plain);
    CU_ASSERT(axis.start == 3 && axis.bin == 0.5F);
    axis = roi_axis_between(5, 2, 1, 10, &plain);
    CU_ASSERT(axis.start == 5 && axis.bin == 0.5F);
    struct roi_rule rule = {.bins = 2, .sampling = 2, .aligned = true};
    axis = roi_axis_between(3, 3.5F, 1, 10, &rule);
    CU_ASSERT(axis.start == 2.5F && axis.bin == 0.25F);
}

static void as_many_samples_as_pixels_rounded_up(void) {
    struct roi_rule rule = {.bins = 4, .aligned = true};
    CU_ASSERT_EQUAL(roi_axis_between(0, 8, 1, 100, &rule).grid, 2);
    CU_ASSERT_EQUAL(roi_axis_between(0, 8.25F, 1, 100, &rule).grid, 3);
    CU_ASSERT_EQUAL(roi_axis_between(0, 0.5F, 1, 100, &rule).grid, 1);
    CU_ASSERT_EQUAL(roi_axis_between(5, 2, 1, 100, &rule).grid, 0);
    CU_ASSERT_EQUAL(roi_axis_between(0, 1e30F, 1, 100, &rule).grid, ROI_GRID_MAX);
    CU_ASSERT_EQUAL(roi_axis_between(NAN, NAN, 1, 100, &rule).grid, 0);
}

static void up_to_a_pixel_outside_the_border_holds(void) {
    static const struct {
        float at;
        bool counts;
        int low, high;
        float fraction;
    } cases[] = {{-1.0F, true, 0, 1, 0},    {-1.001F, false, 0, 0, 0},  {-0.5F, true, 0, 1, 0},
                 {0, true, 0, 1, 0},        {7.75F, true, 7, 8, 0.75F}, {8.5F, true, 8, 9, 0.5F},
                 {9, true, 9, 9, 0},        {9.75F, true, 9, 9, 0},     {10, true, 9, 9, 0},
                 {10.001F, false, 0, 0, 0}, {NAN, false, 0, 0, 0}};
    struct bilinear_tap tap = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct roi_axis axis = {.start = cases[i].at, .bin = 0, .grid = 1, .size = 10};
        bool counts = roi_axis_sample(&axis, 0, 0, &tap);
        CU_ASSERT_EQUAL(counts, cases[i].counts);
        if (counts)
            CU_ASSERT(tap.low == cases[i].low && tap.high == cases[i].high &&
                      tap.fraction == cases[i].fraction);
    }
}

static void a_map_of_one_pixel_has_one_value(void) {
    struct roi_axis axis = roi_axis_between(0, 4, 0.25F, 1, &plain);
    for (int bin = 0; bin < 2; bin++)
        CU_ASSERT_EQUAL(roi_axis_weight(&axis, bin, 0), 1);
}

/* A bin inside the map weighs 1 in all, whatever its place and size; and nothing outside its span.
 */
static void weights_of_a_bin_add_up_to_1(void) {
    struct roi_rule rule = {.bins = 7, .sampling = 0};
    for (int k = 0; k < 200; k++) {
        float low = (float)(k * 37 % 50) * 0.61F, high = low + (float)(k * 53 % 60) * 0.77F;
        rule.sampling = k % 3;
        struct roi_axis axis = roi_axis_between(low, high, 1, 96, &rule);
        for (int bin = 0; bin < 7; bin++) {
            float sum = 0;
            int first, last;
            roi_axis_span(&axis, bin, &first, &last);
            for (int pixel = 0; pixel < 96; pixel++) {
                float weight = roi_axis_weight(&axis, bin, pixel);
                CU_ASSERT(weight == 0 || (pixel >= first && pixel <= last));
                sum += weight;
            }
            CU_ASSERT_DOUBLE_EQUAL((double)sum, 1, 1e-5);
        }
    }
}

UNIT_SUITE("kernels.roi_axis", UNIT(two_samples_lie_at_a_quarter_and_three_quarters_of_a_bin),
           UNIT(a_sample_between_two_pixels_is_shared),
           UNIT(a_region_is_a_pixel_at_least_unless_it_is_aligned),
           UNIT(as_many_samples_as_pixels_rounded_up), UNIT(up_to_a_pixel_outside_the_border_holds),
           UNIT(a_map_of_one_pixel_has_one_value), UNIT(weights_of_a_bin_add_up_to_1))
