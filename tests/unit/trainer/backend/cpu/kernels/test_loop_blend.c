#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

enum { ROWS = 5, COLUMNS = 6, CHANNELS_MAX = 300 };

static const size_t widths[] = {1, 3, 16, 17, 64, 131, 300};
enum { WIDTHS = sizeof(widths) / sizeof(widths[0]) };

typedef void check_fn(const struct loops *loops, enum elem from, enum elem to, size_t channels);

static void for_each(check_fn *check) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (int i = 0; i < WIDTHS; i++) {
            check(*loops, ELEM_F32, ELEM_F32, widths[i]);
            check(*loops, ELEM_BF16, ELEM_BF16, widths[i]);
            check(*loops, ELEM_BF16, ELEM_F32, widths[i]);
        }
}

/* Two items each: the first takes two taps of y and one of x, the second none of y and three. */
static const int32_t y_place[] = {1, 0}, y_first[] = {0, 2, 2};
static const struct blend_tap y_taps[] = {{3, 0.25F}, {4, 0.75F}};
static const int32_t x_place[] = {0, 2}, x_first[] = {0, 1, 4};
static const struct blend_tap x_taps[] = {{5, 2}, {0, 0.5F}, {1, -1}, {3, 0.125F}};

/* The definition: all pairs of taps. */
static double expected_at(const void *from, enum elem elem, size_t channels, int i, int k,
                          size_t c) {
    double sum = 0;
    for (int s = y_first[i]; s < y_first[i + 1]; s++)
        for (int t = x_first[k]; t < x_first[k + 1]; t++) {
            size_t at = ((size_t)y_taps[s].at * COLUMNS + (size_t)x_taps[t].at) * channels + c;
            sum += (double)y_taps[s].weight * (double)x_taps[t].weight *
                   (double)loop_get(from, at, elem);
        }
    return sum;
}

/* Written once, then added to what is there. */
static void check_blend(const struct loops *loops, enum elem from_elem, enum elem to_elem,
                        size_t channels) {
    void *from = loop_values(ROWS * COLUMNS * channels, from_elem, 0, 1);
    for (int add = 0; add < 2; add++) {
        void *to = loop_values(6 * channels, to_elem, 0, 2);
        void *before = loop_values(6 * channels, to_elem, 0, 2);
        struct blend blend = {.from_elem = from_elem,
                              .to_elem = to_elem,
                              .channels = channels,
                              .from = from,
                              .from_row = COLUMNS * channels,
                              .to_row = 3 * channels,
                              .y = {2, y_place, y_first, y_taps},
                              .x = {2, x_place, x_first, x_taps},
                              .add = add == 1,
                              .to = to};
        loops->blend(&blend);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 2; k++)
                for (size_t c = 0; c < channels; c++) {
                    size_t at = (size_t)(y_place[i] * 3 + x_place[k]) * channels + c;
                    double value = expected_at(from, from_elem, channels, i, k, c);
                    value += add == 1 ? (double)loop_get(before, at, to_elem) : 0;
                    CU_ASSERT(loop_near(loop_get(to, at, to_elem), value, to_elem, 4));
                }
        for (size_t c = 0; c < channels; c++) /* column 1 is no place */
            CU_ASSERT_EQUAL(loop_get(to, channels + c, to_elem),
                            loop_get(before, channels + c, to_elem));
        free(to);
        free(before);
    }
    free(from);
}

static void blend_sums_along_both_axes(void) {
    for_each(check_blend);
}

/* The three products of a convolution with one output: forward, data gradient, weight gradient. */
static void check_rows(const struct loops *loops, enum elem elem, enum elem to, size_t channels) {
    if (to != elem)
        return;
    void *x = loop_values(ROWS * channels, elem, 0, 3),
         *y = loop_values(ROWS * channels, elem, 0, 4);
    float *w = loop_values(channels, ELEM_F32, 0, 5), *a = loop_values(ROWS, ELEM_F32, 0, 6);
    float dots[ROWS], sums[CHANNELS_MAX];
    loops->dot_rows(x, elem, channels, ROWS, w, 0.5F, dots);
    loops->outer_rows(a, w, elem, channels, ROWS, y);
    loops->weigh_rows(a, x, elem, channels, ROWS, sums);
    for (size_t row = 0; row < ROWS; row++) {
        double dot = 0.5;
        for (size_t c = 0; c < channels; c++) {
            dot += (double)loop_get(x, row * channels + c, elem) * (double)w[c];
            CU_ASSERT(
                loop_near(loop_get(y, row * channels + c, elem), (double)(a[row] * w[c]), elem, 1));
        }
        CU_ASSERT(loop_near(dots[row], dot, ELEM_F32, (double)channels));
    }
    for (size_t c = 0; c < channels; c++) {
        double sum = 0;
        for (size_t row = 0; row < ROWS; row++)
            sum += (double)a[row] * (double)loop_get(x, row * channels + c, elem);
        CU_ASSERT(loop_near(sums[c], sum, ELEM_F32, 4));
    }
    free(x);
    free(y);
    free(w);
    free(a);
}

static void rows_are_multiplied_spread_and_weighed(void) {
    for_each(check_rows);
}

UNIT_SUITE("cpu.loop_blend", UNIT(blend_sums_along_both_axes),
           UNIT(rows_are_multiplied_spread_and_weighed))
