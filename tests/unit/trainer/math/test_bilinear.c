#include "tests/support/unit.h"
#include "trainer/math/bilinear.h"

#include <stdbool.h>

static void check(int32_t i, int32_t source, int32_t target, int32_t low, int32_t high,
                  float fraction) {
    struct bilinear_tap tap = bilinear_source(i, bilinear_scale(source, target), source);
    CU_ASSERT_EQUAL(tap.low, low);
    CU_ASSERT_EQUAL(tap.high, high);
    CU_ASSERT_EQUAL(tap.fraction, fraction);
}

static void pixels_twice_as_large_lie_a_quarter_from_the_centres(void) {
    check(0, 3, 6, 0, 1, 0); /* at -0.25: the first centre's value */
    check(1, 3, 6, 0, 1, 0.25F);
    check(2, 3, 6, 0, 1, 0.75F);
    check(3, 3, 6, 1, 2, 0.25F);
    check(4, 3, 6, 1, 2, 0.75F);
    check(5, 3, 6, 2, 2, 0.25F); /* both neighbours are the last pixel */
}

static void pixels_half_as_large_lie_between_two(void) {
    for (int32_t i = 0; i < 4; i++)
        check(i, 8, 4, 2 * i, 2 * i + 1, 0.5F);
}

static void the_same_size_is_the_same_picture(void) {
    for (int32_t size = 1; size < 2000; size++)
        for (int32_t i = 0; i < size; i += 37) {
            struct bilinear_tap tap = bilinear_source(i, bilinear_scale(size, size), size);
            CU_ASSERT(tap.low == i && tap.fraction == 0);
            CU_ASSERT_EQUAL(bilinear_nearest(i, bilinear_scale(size, size), size), i);
        }
}

static void every_size_stays_inside_and_goes_forward(void) {
    for (int32_t source = 1; source < 700; source += 13)
        for (int32_t target = 1; target < 1400; target += 29) {
            float scale = bilinear_scale(source, target);
            struct bilinear_tap before = {0};
            bool good = true;
            for (int32_t i = 0; i < target; i++) {
                struct bilinear_tap tap = bilinear_source(i, scale, source);
                int32_t nearest = bilinear_nearest(i, scale, source);
                good = good && tap.low >= before.low && tap.high < source && tap.fraction >= 0 &&
                       tap.fraction < 1 && tap.high - tap.low == (tap.low < source - 1);
                good = good && nearest >= 0 && nearest < source;
                before = tap;
            }
            CU_ASSERT(good);
        }
}

static void the_nearest_is_the_one_under_the_pixels_corner(void) {
    static const int32_t of_five[] = {0, 0, 1, 1, 2, 3, 3, 4}; /* floor(i * 5 / 8) */
    for (int32_t i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(bilinear_nearest(i, bilinear_scale(5, 8), 5), of_five[i]);
    CU_ASSERT_EQUAL(bilinear_nearest(2, bilinear_scale(9, 3), 9), 6);
}

UNIT_SUITE("kernels.bilinear", UNIT(pixels_twice_as_large_lie_a_quarter_from_the_centres),
           UNIT(pixels_half_as_large_lie_between_two), UNIT(the_same_size_is_the_same_picture),
           UNIT(every_size_stays_inside_and_goes_forward),
           UNIT(the_nearest_is_the_one_under_the_pixels_corner))
