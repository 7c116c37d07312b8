/* How exact f32 products are on every instruction set, including AMX's sums of bf16 (loop_split.h):
 * convolutions are computed as matrix products, and the sums compared with double. */
#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

#include <float.h>

/* AMX multiplies bf16 alone, so f32 products on it are sums of six products of parts. These tests
 * hold such sums to the exactness of plain f32 ones: single products, long sums, extreme sizes, and
 * values that are not finite. Other instruction sets run the same tests, which keeps the bounds
 * honest. */

/* 37 rows fill one tile of 32 and leave a part; 48 outputs leave half a panel. */
enum { ROWS = 37, OUT = 48, IN_MOST = 2304 };

/* y [ROWS][OUT] = x [ROWS][in] w' [in][OUT]. A 1x1 convolution over one row of pixels is exactly
 * this product. Packed weights and scratch are filled with a pattern before use, so that reading
 * what nobody wrote shows. */
static void multiply(const struct loops *loops, size_t in, const float *x, const float *w,
                     float *y) {
    struct conv_rows_pack pack = {.in = in, .out = OUT, .kernel_taps = 1, .taps = 1, .w = w};
    struct conv_rows c = {.height = 1,
                          .width = ROWS,
                          .in = in,
                          .images = 1,
                          .grid_height = 1,
                          .grid_width = ROWS,
                          .step = 1,
                          .taps = 1,
                          .out = OUT,
                          .y_height = 1,
                          .y_width = ROWS,
                          .y_step = 1,
                          .x = x,
                          .y = y};
    size_t panels = (OUT + loops->conv_rows_panel() - 1) / loops->conv_rows_panel();
    pack.weights = loop_unwritten(loops->conv_rows_weights(&pack));
    c.weights = pack.weights;
    c.scratch = loop_unwritten(loops->conv_rows_scratch(&c) / sizeof(float));
    loops->conv_rows_pack(&pack, 0, panels);
    loops->conv_rows_run(&c, 0, ROWS, 0, panels);
    free(pack.weights);
    free(c.scratch);
}

/* Of each result its distance to the sum in double, over the sum of what is added as if all were
 * positive: the largest, and the root of the mean square. Dividing by that sum makes bounds
 * independent of the sizes of numbers. */
struct apart {
    double most, mean;
};

static struct apart apart_of(size_t in, const float *x, const float *w, const float *y) {
    struct apart apart = {0};
    for (size_t row = 0; row < ROWS; row++)
        for (size_t out = 0; out < OUT; out++) {
            double sum = 0, size = 0;
            for (size_t i = 0; i < in; i++) {
                double product = (double)x[row * in + i] * (double)w[out * in + i];
                sum += product;
                size += fabs(product);
            }
            double off = size > 0 ? fabs((double)y[row * OUT + out] - sum) / size : 0;
            apart.most = off > apart.most ? off : apart.most;
            apart.mean += off * off / (ROWS * OUT);
        }
    apart.mean = sqrt(apart.mean);
    return apart;
}

/* Numbers of 2^-LOW to 2^LOW of either sign. Sizes of numbers within one sum then differ by up to
 * 2^40. */
static float *spread(size_t count, int low, uint32_t seed) {
    float *values = loop_values(count, ELEM_F32, 0, seed);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        values[i] = ldexpf(values[i], (int)(seed >> 16) % (2 * low + 1) - low);
    }
    return values;
}

/* The same numbers for every instruction set, as seeds are fixed. */
static struct apart measure(const struct loops *loops, size_t in, int low) {
    float *x = spread(ROWS * in, low, 1), *w = spread(OUT * in, low, 2);
    float *y = loop_values((size_t)ROWS * OUT, ELEM_F32, 0, 5);
    multiply(loops, in, x, w, y);
    struct apart apart = apart_of(in, x, w, y);
    free(x);
    free(w);
    free(y);
    return apart;
}

/* A product by itself: of two numbers with 24 bits each, wherever in the row they stand. All other
 * numbers of the row are zeros, so nothing is rounded but the product. */
static void one_product_is_off_by_its_last_bits_alone(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t at = 0; at < 80; at += 13) {
            float *x = loop_values((size_t)ROWS * 80, ELEM_F32, 0, 6), y[ROWS * OUT];
            float *w = loop_values((size_t)OUT * 80, ELEM_F32, 0, 7);
            for (size_t i = 0; i < (size_t)ROWS * 80; i++)
                x[i] = i % 80 == at ? x[i] : 0;
            multiply(*loops, 80, x, w, y);
            CU_ASSERT(apart_of(80, x, w, y).most < ldexp(1, -21));
            free(x);
            free(w);
        }
}

/* Sums are as exact as those of a plain loop over f32, for numbers of one size and of many. The
 * narrowest loops, last in the list, are the plain ones. Factors of 2 leave room for another order
 * of sums. */
static void sums_are_as_exact_as_plain_ones(void) {
    static const size_t depths[] = {16, 32, 48, 256, 576, IN_MOST};
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
        for (int low = 0; low <= 20; low += 10) {
            const struct loops *const *loops = loops_available();
            while (loops[1] != NULL)
                loops++;
            struct apart plain = measure(*loops, depths[i], low);
            for (loops = loops_available(); *loops != NULL; loops++) {
                struct apart apart = measure(*loops, depths[i], low);
                CU_ASSERT(apart.mean < 2 * plain.mean + ldexp(1, -25));
                CU_ASSERT(apart.most < 2 * plain.most + ldexp(1, -23));
            }
        }
}

/* Numbers down to 1e-30 keep their bits, be they large or small beside the others. Below 1e-33 the
 * last part would be lost (loop_split.h). */
static void small_and_large_numbers_keep_their_bits(void) {
    static const float sizes[] = {1e-30F, 1e-20F, 1, 1e20F, 1e37F};
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            float *x = loop_values((size_t)ROWS * 32, ELEM_F32, 0, 8), y[ROWS * OUT];
            float *w = loop_values((size_t)OUT * 32, ELEM_F32, 0, 9);
            for (size_t j = 0; j < (size_t)ROWS * 32; j++)
                x[j] *= sizes[i];
            multiply(*loops, 32, x, w, y);
            CU_ASSERT(apart_of(32, x, w, y).most < 1e-6);
            free(x);
            free(w);
        }
}

/* What is not finite spoils its row of results, or its column, and no other; zeros beside it do not
 * hide it. The first half of the cases is in x, the second in w. */
static void what_is_not_finite_is_seen_where_it_belongs(void) {
    /* Infinities, and NaN with the largest, the smallest and the usual bit patterns. */
    static const uint32_t bad[] = {0x7f800000, 0xff800000, 0x7fffffff,
                                   0xffffffff, 0x7f800001, 0x7fc00000};
    enum { BAD = sizeof(bad) / sizeof(bad[0]) };
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < 2 * (size_t)BAD; i++) {
            float *x = loop_values((size_t)ROWS * 32, ELEM_F32, 2, 8), y[ROWS * OUT];
            float *w = loop_values((size_t)OUT * 32, ELEM_F32, 2, 9);
            bool of_x = i < BAD;
            memcpy(of_x ? &x[21 * 32 + 5] : &w[33 * 32 + 30], &bad[i % BAD], sizeof(float));
            multiply(*loops, 32, x, w, y);
            for (size_t row = 0; row < ROWS; row++)
                for (size_t out = 0; out < OUT; out++)
                    CU_ASSERT_EQUAL(isfinite(y[row * OUT + out]) != 0,
                                    of_x ? row != 21 : out != 33);
            free(x);
            free(w);
        }
}

/* Returns whether this thread's tile registers are in use, which adds 8 KiB to every context switch
 * from it. Bit 18 of XINUSE, read by XGETBV with ECX 1 (Intel's manual). */
static bool has_tiles_in_use(void) {
#if defined(__x86_64__)
    uint32_t low;
    __asm__ volatile("xgetbv" : "=a"(low) : "c"(1) : "edx");
    return (low & (1U << 18)) != 0;
#else
    return false;
#endif
}

/* The state stays in use until TILERELEASE, even if nothing else uses it. The measurement is only a
 * product that uses them. */
static void tiles_are_given_back(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        CU_ASSERT(measure(*loops, 32, 0).most < 1);
        CU_ASSERT(!(*loops)->tiles || !has_tiles_in_use());
    }
}

UNIT_SUITE("cpu.loop_split", UNIT(one_product_is_off_by_its_last_bits_alone),
           UNIT(sums_are_as_exact_as_plain_ones), UNIT(small_and_large_numbers_keep_their_bits),
           UNIT(what_is_not_finite_is_seen_where_it_belongs), UNIT(tiles_are_given_back))
