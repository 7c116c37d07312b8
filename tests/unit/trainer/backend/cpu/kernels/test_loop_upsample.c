#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* Both loops against sums in double, for numbers of channels below, at and above a vector. A 7
 * after the end of the result shows that nothing is written there. */

enum { WIDTH = 3 };
static const size_t widths[] = {1, 5, 16, 35};

/* One row of the small map and one of the large. */
static void check_add(const struct loops *loops, enum elem elem, size_t channels) {
    size_t line = WIDTH * channels;
    void *large = loop_values(2 * line, elem, 0, 1), *small = loop_values(line, elem, 0, 2);
    void *y = loop_values(2 * line + 1, elem, 0, 3);
    loop_put(y, 2 * line, elem, 7);
    loops->upsample_add(large, small, elem, WIDTH, channels, y);
    for (size_t pixel = 0; pixel < 2 * WIDTH; pixel++)
        for (size_t c = 0; c < channels; c++) {
            double sum = (double)loop_get(large, pixel * channels + c, elem) +
                         (double)loop_get(small, pixel / 2 * channels + c, elem);
            CU_ASSERT(loop_near(loop_get(y, pixel * channels + c, elem), sum, elem, 1));
        }
    CU_ASSERT_EQUAL(loop_get(y, 2 * line, elem), 7);
    free(large);
    free(small);
    free(y);
}

/* The four pixels lie in two rows, side by side. */
static void check_grad(const struct loops *loops, enum elem elem, size_t channels) {
    size_t line = WIDTH * channels;
    void *first = loop_values(2 * line, elem, 0, 1), *second = loop_values(2 * line, elem, 0, 2);
    void *y = loop_values(line + 1, elem, 0, 3);
    loop_put(y, line, elem, 7);
    loops->upsample_grad(first, second, elem, WIDTH, channels, y);
    for (size_t pixel = 0; pixel < WIDTH; pixel++)
        for (size_t c = 0; c < channels; c++) {
            size_t at = 2 * pixel * channels + c;
            double sum =
                (double)loop_get(first, at, elem) + (double)loop_get(first, at + channels, elem) +
                (double)loop_get(second, at, elem) + (double)loop_get(second, at + channels, elem);
            CU_ASSERT(loop_near(loop_get(y, pixel * channels + c, elem), sum, elem, 1));
        }
    CU_ASSERT_EQUAL(loop_get(y, line, elem), 7);
    free(first);
    free(second);
    free(y);
}

static void a_pixel_is_added_to_four_which_send_theirs_back(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
            for (int elem = ELEM_F32; elem <= ELEM_BF16; elem++) {
                check_add(*loops, (enum elem)elem, widths[i]);
                check_grad(*loops, (enum elem)elem, widths[i]);
            }
}

UNIT_SUITE("cpu.loop_upsample", UNIT(a_pixel_is_added_to_four_which_send_theirs_back))
