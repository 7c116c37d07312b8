#include "tests/support/unit.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/codec/resize_rows.h"
#include "trainer/math/random.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 131, ROWS = 9, VALUES = WIDTH * IMAGE_CHANNELS };

/* TAPS positive weights that add up to one, USED of them; the rest 0. */
static void make_weights(struct random *random, int16_t *weights, int taps, int used) {
    int left = 1 << RESIZE_WEIGHT_BITS;
    memset(weights, 0, (size_t)taps * sizeof(*weights));
    for (int k = 0; k < used - 1; k++) {
        weights[k] = (int16_t)(1 + random_below(random, (uint32_t)(left / 2)));
        left -= weights[k];
    }
    weights[used - 1] = (int16_t)left;
}

static void all_versions_down_give_the_same_bits(void) {
    struct random random = random_stream(1, 0, 0);
    uint8_t in[ROWS][VALUES];
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < VALUES; x++)
            in[y][x] = (uint8_t)random_u32(&random);
    for (int used = 1; used <= ROWS; used++) {
        int16_t weights[10], fast[VALUES], plain[VALUES];
        make_weights(&random, weights, 10, used);
        resize_down(RESIZE_PLAIN, in[0], VALUES, weights, 10, VALUES, plain);
        for (enum resize_isa isa = RESIZE_PLAIN; isa <= resize_isa_best(); isa++) {
            resize_down(isa, in[0], VALUES, weights, 10, VALUES, fast);
            CU_ASSERT_EQUAL(memcmp(fast, plain, sizeof(fast)), 0);
        }
    }
}

enum { PLACES = 43, TAPS = 12, FENCE = 64 };

/* Computes a row by ISA; what it may not write stays as it was. */
static void across(enum resize_isa isa, const struct resize_axis *axis, int count, bool flip,
                   const int16_t *row, uint8_t *out) {
    struct resize_across prepared = {0};
    memset(out, 77, PLACES * IMAGE_CHANNELS + FENCE);
    CU_ASSERT_EQUAL_FATAL(resize_across_prepare(&prepared, isa, axis, count, flip, NULL), 0);
    resize_across(&prepared, row, out);
    resize_across_done(&prepared);
}

static void compare_versions(const struct resize_axis *axis, const int16_t *row) {
    for (int count = PLACES - 11; count <= PLACES; count++)
        for (int flip = 0; flip < 2; flip++) {
            uint8_t plain[PLACES * IMAGE_CHANNELS + FENCE], fast[sizeof(plain)];
            across(RESIZE_PLAIN, axis, count, flip, row, plain);
            CU_ASSERT_EQUAL(plain[count * IMAGE_CHANNELS], 77);
            for (enum resize_isa isa = RESIZE_PLAIN; isa <= resize_isa_best(); isa++) {
                across(isa, axis, count, flip, row, fast);
                CU_ASSERT_EQUAL(memcmp(fast, plain, sizeof(fast)), 0);
            }
        }
}

/* Places STEP pixels apart, or anywhere if it is 0. */
static void compare_across(int taps, double step) {
    struct random random = random_stream(2, 0, 0);
    int16_t row[VALUES + TAPS * IMAGE_CHANNELS + RESIZE_ROW_SLACK] = {0};
    int first[PLACES];
    int16_t weights[PLACES * TAPS];
    const struct resize_axis axis = {.taps = taps, .first = first, .weights = weights};
    for (int i = 0; i < VALUES; i++)
        row[i] = (int16_t)random_below(&random, (255 << RESIZE_BETWEEN_BITS) + 1);
    for (int p = 0; p < PLACES; p++) {
        int used = 1 + (int)random_below(&random, (uint32_t)taps);
        int place = step > 0 ? (int)(p * step) : (int)random_below(&random, WIDTH);
        first[p] = p % 9 == 0 ? -1 : place > WIDTH - used ? WIDTH - used : place;
        make_weights(&random, weights + p * taps, taps, used);
    }
    first[PLACES - 1] = WIDTH - 1; /* the last pixel alone */
    make_weights(&random, weights + (PLACES - 1) * taps, taps, 1);
    compare_versions(&axis, row);
}

static void all_versions_across_give_the_same_bits(void) {
    const double steps[] = {0.4, 1, 2, 3, 0};
    for (int taps = 2; taps <= TAPS; taps += 2)
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
            compare_across(taps, steps[i]);
}

static void the_ends_of_the_range_do_not_overflow(void) {
    uint8_t white[2][VALUES];
    int16_t row[VALUES + 2 * IMAGE_CHANNELS + RESIZE_ROW_SLACK] = {0};
    const int16_t half[2] = {1 << 13, 1 << 13};
    int first[1] = {0};
    int16_t weights[2] = {1 << 13, 1 << 13};
    const struct resize_axis axis = {.taps = 2, .first = first, .weights = weights};
    memset(white, 255, sizeof(white));
    for (enum resize_isa isa = RESIZE_PLAIN; isa <= resize_isa_best(); isa++) {
        uint8_t out[PLACES * IMAGE_CHANNELS + FENCE];
        resize_down(isa, white[0], VALUES, half, 2, VALUES, row);
        CU_ASSERT_EQUAL(row[0], 255 << RESIZE_BETWEEN_BITS);
        CU_ASSERT_EQUAL(row[VALUES - 1], 255 << RESIZE_BETWEEN_BITS);
        across(isa, &axis, 1, false, row, out);
        CU_ASSERT_EQUAL(out[0], 255);
    }
}

UNIT_SUITE("data.resize_rows", UNIT(all_versions_down_give_the_same_bits),
           UNIT(all_versions_across_give_the_same_bits),
           UNIT(the_ends_of_the_range_do_not_overflow))
