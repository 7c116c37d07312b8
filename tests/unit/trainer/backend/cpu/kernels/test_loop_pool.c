#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* Maximum and mean over windows, on every instruction set and in both types, against plain loops
 * over cells. The kernels vectorize over channels and cut windows at borders; 17 channels leave one
 * for the partial vector, and the sizes below make windows that lie inside, over each border, and
 * over each corner.
 *
 * Calls are given ranges of rows that end within an image, as threads have them. */

/* Two images of 7 x 5 pixels, 17 channels: windows of 3 by 2 with padding meet every border. */
enum { IMAGES = 2, HEIGHT = 7, WIDTH = 5, CHANNELS = 17, OUT_HEIGHT = 4, OUT_WIDTH = 3 };
enum { INPUTS = IMAGES * HEIGHT * WIDTH * CHANNELS, WINDOW = 3, STRIDE = 2, PAD = 1 };
enum { OUTPUTS = IMAGES * OUT_HEIGHT * OUT_WIDTH * CHANNELS };

/* Addresses are set by each test. A window of 3 with stride 2 overlaps its neighbours by one
 * cell. */
static struct pool pool_of(enum elem elem) {
    return (struct pool){.elem = elem,
                         .channels = CHANNELS,
                         .height = HEIGHT,
                         .width = WIDTH,
                         .out_height = OUT_HEIGHT,
                         .out_width = OUT_WIDTH,
                         .kernel = WINDOW,
                         .stride = STRIDE,
                         .pad = PAD};
}

/* The input cell of window (image, i, j) at WINDOW cell, or -1 outside the image. The definition of
 * a window, from which all expected values follow. */
static long cell_at(size_t out, int cell) {
    long c = (long)(out % CHANNELS), pixel = (long)(out / CHANNELS);
    long j = pixel % OUT_WIDTH, i = pixel / OUT_WIDTH % OUT_HEIGHT;
    long image = pixel / OUT_WIDTH / OUT_HEIGHT;
    long row = i * STRIDE - PAD + cell / WINDOW, column = j * STRIDE - PAD + cell % WINDOW;
    if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH)
        return -1;
    return ((image * HEIGHT + row) * WIDTH + column) * CHANNELS + c;
}

/* NORM applies scale, shift and ReLU to each cell, as the stem's fused operator does. SPECIAL is
 * put into every fifth element and into all of channel 2, so that windows with some and with
 * nothing else occur. Results are compared together with their index. A fused multiply-add is
 * compared with fmaf(), since loops contract it where the instruction set can; the index depends on
 * the last bit. */
static void check_pool(const struct loops *loops, enum elem elem, bool norm, float special) {
    struct pool pool = pool_of(elem);
    void *x = loop_values(INPUTS, elem, 0, 3), *y = loop_values(OUTPUTS, elem, 0, 4);
    float *scale = loop_values(CHANNELS, ELEM_F32, 0, 5);
    float *shift = loop_values(CHANNELS, ELEM_F32, 0, 6);
    uint8_t index[OUTPUTS];
    for (size_t at = 0; special != 0 && at < INPUTS; at++)
        if (at % 5 == 0 || at % CHANNELS == 2)
            loop_put(x, at, elem, special);
    pool.x = x;
    pool.y = y;
    pool.index = index;
    pool.scale = norm ? scale : NULL;
    pool.shift = shift;
    loops->max_pool(&pool, 0, 3);
    loops->max_pool(&pool, 3, IMAGES * OUT_HEIGHT);
    for (size_t out = 0; out < OUTPUTS; out++) {
        int where = -1;
        float best = 0;
        for (int cell = 0; cell < WINDOW * WINDOW; cell++) {
            long at = cell_at(out, cell);
            if (at < 0)
                continue;
            float v = loop_get(x, (size_t)at, elem);
            if (norm) {
                v = fmaf(v, scale[out % CHANNELS], shift[out % CHANNELS]);
                v = v < 0 ? 0 : v;
            }
            if (where < 0 || v > best || (isnan(v) && !isnan(best))) {
                best = v;
                where = cell;
            }
        }
        float result = loop_get(y, out, elem);
        CU_ASSERT(isfinite(best) ? loop_near(result, (double)best, elem, 1)
                                 : result == best || (isnan(result) && isnan(best)));
        CU_ASSERT_EQUAL(index[out], where);
    }
    free(x);
    free(y);
    free(scale);
    free(shift);
}

/* Ties occur by themselves where the ReLU makes zeros. With the norm all four combinations of type
 * and form are run. */
static void the_first_maximum_of_a_window_counts(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        check_pool(*loops, ELEM_F32, false, 0);
        check_pool(*loops, ELEM_BF16, false, 0);
        check_pool(*loops, ELEM_F32, true, 0);
        check_pool(*loops, ELEM_BF16, true, 0);
    }
}

/* Some here and there, and a channel of nothing else: the cell of such a window lies inside. Minus
 * infinity is also what cells outside the image count as; it must win only if there is nothing
 * else. */
static void nan_comes_before_all_numbers_and_minus_infinity_behind(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (int elem = ELEM_F32; elem <= ELEM_BF16; elem++) {
            check_pool(*loops, (enum elem)elem, false, NAN);
            check_pool(*loops, (enum elem)elem, true, NAN);
            check_pool(*loops, (enum elem)elem, false, -INFINITY);
        }
}

/* The index is made up: any valid cell will do, as the gradient only follows it. BOTH adds the
 * gradient of a second reader. The index is written for each output and then read by every row of
 * the input. */
static void check_grad(const struct loops *loops, enum elem elem, bool both) {
    struct pool pool = pool_of(elem);
    void *dy = loop_values(OUTPUTS, elem, 0, 8), *dx = loop_values(INPUTS, elem, 0, 9);
    void *dy2 = both ? loop_values(OUTPUTS, elem, 0, 10) : NULL;
    uint8_t index[OUTPUTS];
    double expected[INPUTS] = {0};
    for (size_t out = 0; out < OUTPUTS; out++) {
        int cell = (int)(out * 7 % (WINDOW * WINDOW));
        while (cell_at(out, cell) < 0)
            cell = (cell + 1) % (WINDOW * WINDOW);
        index[out] = (uint8_t)cell;
        expected[cell_at(out, cell)] += (double)loop_get(dy, out, elem);
        expected[cell_at(out, cell)] += both ? (double)loop_get(dy2, out, elem) : 0;
    }
    pool.index = index;
    for (size_t row = 0; row < IMAGES * HEIGHT; row++)
        loops->max_pool_grad_row(&pool, dy, dy2, row,
                                 (char *)dx + row * WIDTH * CHANNELS * elem_size(elem));
    for (size_t at = 0; at < INPUTS; at++)
        CU_ASSERT(loop_near(loop_get(dx, at, elem), expected[at], elem, 4));
    free(dy);
    free(dy2);
    free(dx);
}

/* A cell may be the maximum of up to four windows and then gets all their gradients. A row is
 * written whole by one call, so elements without a maximum become 0. */
static void gradients_go_back_where_the_maximum_was(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        check_grad(*loops, ELEM_F32, false);
        check_grad(*loops, ELEM_BF16, false);
        check_grad(*loops, ELEM_F32, true);
        check_grad(*loops, ELEM_BF16, true);
    }
}

/* Forwards, and backwards from dy to dx: the mean of a window's cells, of which those outside the
 * image are 0. The gradient's expected values are gathered cell by cell while the means are added
 * up. Both directions share one pass over all cells of all windows. */
static void check_means(const struct loops *loops, enum elem elem) {
    struct pool forward = pool_of(elem), backward = pool_of(elem);
    void *x = loop_values(INPUTS, elem, 0, 3), *y = loop_values(OUTPUTS, elem, 0, 4);
    void *dy = loop_values(OUTPUTS, elem, 0, 8), *dx = loop_values(INPUTS, elem, 0, 9);
    double means[OUTPUTS] = {0}, gradients[INPUTS] = {0};
    for (size_t out = 0; out < OUTPUTS; out++)
        for (int cell = 0; cell < WINDOW * WINDOW; cell++) {
            const long at = cell_at(out, cell);
            if (at < 0)
                continue;
            means[out] += (double)loop_get(x, (size_t)at, elem) / (WINDOW * WINDOW);
            gradients[at] += (double)loop_get(dy, out, elem) / (WINDOW * WINDOW);
        }
    forward.x = x;
    forward.y = y;
    backward.x = dy;
    backward.y = dx;
    loops->avg_pool(&forward, 0, 3);
    loops->avg_pool(&forward, 3, IMAGES * OUT_HEIGHT);
    loops->avg_pool_grad(&backward, 0, 5);
    loops->avg_pool_grad(&backward, 5, IMAGES * HEIGHT);
    for (size_t out = 0; out < OUTPUTS; out++)
        CU_ASSERT(loop_near(loop_get(y, out, elem), means[out], elem, 9));
    for (size_t at = 0; at < INPUTS; at++)
        CU_ASSERT(loop_near(loop_get(dx, at, elem), gradients[at], elem, 4));
    free(x);
    free(y);
    free(dy);
    free(dx);
}

/* The divisor is the same for all windows. */
static void a_mean_has_a_share_of_each_cell(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        check_means(*loops, ELEM_F32);
        check_means(*loops, ELEM_BF16);
    }
}

UNIT_SUITE("cpu.loop_pool", UNIT(the_first_maximum_of_a_window_counts),
           UNIT(nan_comes_before_all_numbers_and_minus_infinity_behind),
           UNIT(gradients_go_back_where_the_maximum_was), UNIT(a_mean_has_a_share_of_each_cell))
