/* The parts of Winograd's F(4x4, 3x3) on every instruction set, combined by plain loops over blocks
 * and compared with convolutions in double. */
#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* Products by F(4x4, 3x3) have four parts: transforms of inputs, of gradients, of weights, and the
 * transform back, with a matrix product between them. conv/conv_winograd4.c combines them with
 * threads and blocks for caches; here plain loops do, so a fault lies in a part. Every instruction
 * set that this processor can run is tested.
 *
 * Bounds follow from winograd4.h: the error of these transforms is about 1e-5 of the largest sum,
 * ten times that of direct sums. */

/* PAD is the padding before the picture: 1 or 0 forward, and 2 - pad for the data gradient. */
struct shape_case {
    size_t images, height, width, in, out, pad;
};

/* One pixel, tiles that extend beyond both edges, whole tiles, pictures without padding, the
 * padding of a data gradient whose forward pass has none, channels that do not fill a panel, rows
 * that do not fill a tile of the kernel. The last one has more tiles than a block of convolve() and
 * of weigh(). */
static const struct shape_case shapes[] = {
    {1, 1, 1, 16, 16, 1}, {2, 4, 8, 32, 48, 1},   {1, 5, 7, 48, 32, 1}, {3, 3, 6, 16, 64, 0},
    {1, 6, 3, 16, 16, 2}, {2, 13, 18, 64, 32, 1}, {1, 3, 3, 16, 32, 0}, {1, 25, 34, 16, 16, 1},
};
enum { CASES = sizeof(shapes) / sizeof(shapes[0]) };

/* A window of 3 with stride 1. A padding of 2 makes the result larger than the input. */
static size_t out_size(size_t size, size_t pad) {
    return size + 2 * pad - 2;
}

/* Both pictures have the tiles of the output; only the input begins `before` pixels earlier.
 * `before` is the padding of the input. */
static struct winograd4_picture picture_of(const struct shape_case *s, bool output) {
    size_t height = out_size(s->height, s->pad), width = out_size(s->width, s->pad);
    return (struct winograd4_picture){.images = s->images,
                                      .height = output ? height : s->height,
                                      .width = output ? width : s->width,
                                      .channels = output ? s->out : s->in,
                                      .rows = winograd4_cells(height),
                                      .columns = winograd4_cells(width),
                                      .before = output ? 0 : s->pad};
}

/* Finds the input pixel that output PIXEL reads at TAP; false if it is outside the picture.
 * Coordinates before the picture wrap around and fail the comparison. */
static bool find_tap(const struct shape_case *s, size_t pixel, size_t tap, size_t *ret) {
    size_t height = out_size(s->height, s->pad), width = out_size(s->width, s->pad);
    size_t row = pixel / width % height + tap / 3 - s->pad;
    size_t column = pixel % width + tap % 3 - s->pad;
    *ret = (pixel / width / height * s->height + row) * s->width + column;
    return row < s->height && column < s->width;
}

/* Pixels of all images. */
static size_t pixels_of(const struct winograd4_picture *p) {
    return p->images * p->height * p->width;
}

/* A matrix with a row for each of TILES tiles. The slack is what products may read past a row's end
 * (WINOGRAD4_SLACK). */
static struct winograd4_matrix rows_for(float *base, size_t tiles, size_t channels) {
    size_t row = channels + WINOGRAD4_SLACK;
    return (struct winograd4_matrix){
        .base = base, .places = tiles * row, .row = row, .width = channels};
}

/* The memory has room for the rows that a product reads after the last one, 13 at most. It is
 * filled with a pattern, so values that nobody wrote show in results. */
static float *matrix_memory(size_t tiles, size_t channels) {
    return loop_unwritten((WINOGRAD4_PLACES * tiles + 14) * (channels + WINOGRAD4_SLACK));
}

/* Only AMX needs any; elsewhere it is empty. It is filled with a pattern before use. */
static float *product_scratch(const struct loops *loops, size_t rows, size_t cut) {
    return loop_unwritten(loops->winograd4_product_scratch(rows, cut) / sizeof(float));
}

/* Blocks of 37 tiles leave a remainder in most cases. The depth is cut at 32, which gives one
 * piece, several, and a partial one, depending on the channels. One block's transformed inputs and
 * sums are used again by the next, as in a thread. */
static void convolve(const struct loops *loops, const struct shape_case *s, const float *x,
                     const float *weights, const struct winograd4_end *end) {
    enum { BLOCK = 37 };
    struct winograd4_picture in = picture_of(s, false), out = picture_of(s, true);
    float *zeros = calloc(s->in, sizeof *zeros);
    float *v = matrix_memory(BLOCK, s->in), *m = matrix_memory(BLOCK, s->out);
    struct winograd4_matrix inputs = rows_for(v, BLOCK, s->in), sums = rows_for(m, BLOCK, s->out);
    float *scratch = product_scratch(loops, BLOCK, 32);
    for (size_t begin = 0; begin < winograd4_tiles(&out); begin += BLOCK) {
        size_t left = winograd4_tiles(&out) - begin, count = left < BLOCK ? left : BLOCK;
        loops->winograd4_inputs(&in, x, zeros, begin, count, &inputs);
        for (size_t place = 0; place < WINOGRAD4_PLACES; place++) {
            struct winograd4_product product = {
                .rows = count,
                .columns = s->out,
                .depth = s->in,
                .cut = 32,
                .a = v + place * inputs.places,
                .b = weights + loops->winograd4_weights(s->in, s->out) * place,
                .c = m + place * sums.places,
                .a_row = inputs.row,
                .b_panel = loops->winograd4_weights(s->in, loops->winograd4_panel()),
                .c_row = sums.row,
                .scratch = scratch};
            loops->winograd4_product(&product);
        }
        loops->winograd4_outputs(&out, &sums, begin, count, 0, end);
    }
    free(zeros);
    free(v);
    free(m);
    free(scratch);
}

/* One output as a direct sum in double; the taps of a gradient are counted from the end. The
 * formula knows neither tiles nor places. */
static double output_of(const struct shape_case *s, const float *x, const float *w, bool gradient,
                        size_t pixel, size_t out) {
    double sum = 0;
    for (size_t tap = 0; tap < 9; tap++) {
        size_t from;
        if (!find_tap(s, pixel, tap, &from))
            continue;
        for (size_t in = 0; in < s->in; in++)
            sum += (double)x[from * s->in + in] *
                   (gradient ? (double)w[(in * 9 + 8 - tap) * s->out + out]
                             : (double)w[(out * 9 + tap) * s->in + in]);
    }
    return sum;
}

/* VALUE is a sum of COUNT products below 1: the error of such transforms stays below 1e-5 of the
 * largest sum. Errors add up like the root of the number of products. */
static bool is_near(float value, double expected, double count) {
    return fabs((double)value - expected) <= 2e-5 * sqrt(count);
}

/* Two calls, as threads share the panels. The caller frees the result. The layout is not looked at:
 * only products read it. */
static float *pack(const struct loops *loops, const struct shape_case *s, bool gradient,
                   const float *w) {
    size_t panel = loops->winograd4_panel();
    float *weights = loop_unwritten(WINOGRAD4_PLACES * loops->winograd4_weights(s->in, s->out));
    struct winograd4_pack p = {s->in, s->out, gradient, w, weights};
    size_t units = (s->out + panel - 1) / panel;
    loops->winograd4_pack(&p, 0, 1);
    loops->winograd4_pack(&p, 1, units);
    return weights;
}

/* A forward pass has all parts of the end; a data gradient has a bias alone, to keep one term in
 * it. The result begins with other values, and every element of it is compared, because a tile that
 * is missed at an edge leaves some of them. */
static void check_forward(const struct loops *loops, const struct shape_case *s, bool gradient) {
    struct winograd4_picture in = picture_of(s, false), out = picture_of(s, true);
    float *x = loop_values(pixels_of(&in) * s->in, ELEM_F32, 0, 1);
    float *w = loop_values(9 * s->in * s->out, ELEM_F32, 0, 2);
    float *y = loop_values(pixels_of(&out) * s->out, ELEM_F32, 5, 3);
    float *side = loop_values(pixels_of(&out) * s->out, ELEM_F32, 0, 4);
    float *bias = loop_values(s->out, ELEM_F32, 0, 6);
    float *weights = pack(loops, s, gradient, w);
    struct winograd4_end end = {.bias = bias, .side = gradient ? NULL : side, .y = y};
    end.relu = !gradient;
    convolve(loops, s, x, weights, &end);
    for (size_t pixel = 0; pixel < pixels_of(&out); pixel++)
        for (size_t o = 0; o < s->out; o++) {
            size_t at = pixel * s->out + o;
            double expected = output_of(s, x, w, gradient, pixel, o) + (double)bias[o];
            if (!gradient)
                expected = fmax(expected + (double)side[at], 0);
            CU_ASSERT(is_near(y[at], expected, 4 * 9 * (double)s->in));
        }
    free(x);
    free(w);
    free(y);
    free(side);
    free(bias);
    free(weights);
}

/* AT counts elements of dw, [out][9][in]. A pixel without a neighbour at the tap adds nothing. */
static double weight_of(const struct shape_case *s, const float *x, const float *dy, size_t at) {
    struct winograd4_picture out = picture_of(s, true);
    double sum = 0;
    for (size_t pixel = 0; pixel < pixels_of(&out); pixel++) {
        size_t from;
        if (find_tap(s, pixel, at / s->in % 9, &from))
            sum +=
                (double)x[from * s->in + at % s->in] * (double)dy[pixel * s->out + at / s->in / 9];
    }
    return sum;
}

/* Computes dw from x and dy, in blocks of BLOCK tiles. Tiles are the depth of these products, in
 * blocks of 11 that are cut at 7: sums are set by the first block and added to by the others.
 * Panels of the input side are those that products read without packing. */
static void weigh(const struct loops *loops, const struct shape_case *s, const float *x,
                  const float *dy, float *dw) {
    enum { BLOCK = 11 };
    struct winograd4_picture in = picture_of(s, false), out = picture_of(s, true);
    size_t panel = loops->winograd4_panel(), panels = (s->in + panel - 1) / panel;
    float *zeros = calloc(64, sizeof *zeros);
    float *v = matrix_memory(BLOCK, panels * panel), *d = matrix_memory(BLOCK, s->out);
    float *u = loop_values(WINOGRAD4_PLACES * s->in * s->out, ELEM_F32, 0, 8);
    float *scratch = product_scratch(loops, s->out, 7);
    struct winograd4_matrix gradients = rows_for(d, BLOCK, s->out);
    struct winograd4_matrix inputs = {.base = v,
                                      .places = BLOCK * panels * panel,
                                      .panels = BLOCK * panel,
                                      .row = panel,
                                      .width = panel};
    for (size_t begin = 0; begin < winograd4_tiles(&out); begin += BLOCK) {
        size_t left = winograd4_tiles(&out) - begin, count = left < BLOCK ? left : BLOCK;
        loops->winograd4_inputs(&in, x, zeros, begin, count, &inputs);
        loops->winograd4_gradients(&out, dy, zeros, begin, count, &gradients);
        for (size_t place = 0; place < WINOGRAD4_PLACES; place++) {
            struct winograd4_product product = {.rows = s->out,
                                                .columns = s->in,
                                                .depth = count,
                                                .cut = 7,
                                                .by_columns = true,
                                                .add = begin > 0,
                                                .a = d + place * gradients.places,
                                                .b = v + place * inputs.places,
                                                .c = u + place * s->in * s->out,
                                                .a_row = gradients.row,
                                                .b_panel = inputs.panels,
                                                .c_row = s->in,
                                                .scratch = scratch};
            loops->winograd4_product(&product);
        }
    }
    loops->winograd4_taps(u, s->in, s->out, dw, 0, 5);
    loops->winograd4_taps(u, s->in, s->out, dw, 5, s->out);
    free(zeros);
    free(v);
    free(d);
    free(u);
    free(scratch);
}

/* Every fifth element visits all taps, since 5 and 9 have no common factor. Transforms of 1 / (4 *
 * 36) and the like make single elements differ, so each has its own sum. */
static void check_weight(const struct loops *loops, const struct shape_case *s) {
    struct winograd4_picture in = picture_of(s, false), out = picture_of(s, true);
    float *x = loop_values(pixels_of(&in) * s->in, ELEM_F32, 0, 1);
    float *dy = loop_values(pixels_of(&out) * s->out, ELEM_F32, 0, 2);
    float *dw = loop_values(9 * s->in * s->out, ELEM_F32, 5, 3);
    weigh(loops, s, x, dy, dw);
    for (size_t at = 0; at < 9 * s->in * s->out; at += 5)
        CU_ASSERT(is_near(dw[at], weight_of(s, x, dy, at), (double)pixels_of(&out)));
    free(x);
    free(dy);
    free(dw);
}

/* A padding of 2 occurs in data gradients only, so it has no weight gradient. Data gradients use
 * the same shapes with rotated weights. */
static void products_of_tiles_are_those_of_plain_loops(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < CASES; i++) {
            check_forward(*loops, &shapes[i], false);
            check_forward(*loops, &shapes[i], true);
            if (shapes[i].pad < 2)
                check_weight(*loops, &shapes[i]);
        }
}

/* A value that is not finite may reach more results than with direct sums, but no result that those
 * would reach is finite, and other tiles keep their values. A NaN in the sums of a tile reaches all
 * of its 16 results. Weights are far from 0 here, so that no product with the value vanishes. */
static void what_is_not_finite_is_not_lost(void) {
    static const struct shape_case s = {1, 9, 9, 16, 16, 1};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const size_t at = 4 * 9 + 6; /* only the tiles around it read this pixel */
    float *x = loop_values(81 * 16, ELEM_F32, 0, 1), *w = loop_values(9 * 256, ELEM_F32, 3, 2);
    float *y = loop_values(81 * 16, ELEM_F32, 5, 3), *dw = loop_values(9 * 256, ELEM_F32, 5, 4);
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < 3; i++) {
            float *weights = pack(*loops, &s, false, w);
            float kept = x[at * 16 + 3];
            x[at * 16 + 3] = bad[i];
            convolve(*loops, &s, x, weights, &(struct winograd4_end){.relu = true, .y = y});
            for (size_t row = 0; row < 9; row++)
                for (size_t column = 0; column < 9; column++) {
                    bool sees = row >= 3 && row <= 5 && column >= 5 && column <= 7;
                    bool far = row == 8 || column < 4;
                    float value = y[(row * 9 + column) * 16 + 7];
                    CU_ASSERT(!sees || isnan(value));
                    CU_ASSERT(!far || isfinite(value));
                }
            weigh(*loops, &s, x, y, dw);
            for (size_t tap = 0; tap < 9; tap++)
                CU_ASSERT(isnan(dw[tap * 16 + 3]));
            x[at * 16 + 3] = kept;
            free(weights);
        }
    free(x);
    free(w);
    free(y);
    free(dw);
}

/* Returns whether tile TILE reads the pixel at ROW, COLUMN of image IMAGE. The tile's pixels begin
 * `before` rows and columns before its own; SIDE is 4 or 6. Unsigned numbers make pixels before the
 * tile large. */
static bool takes(const struct winograd4_picture *p, size_t side, size_t tile, size_t image,
                  size_t row, size_t column) {
    size_t down = row + p->before - tile / p->columns % p->rows * 4;
    size_t right = column + p->before - tile % p->columns * 4;
    return tile / p->columns / p->rows == image && down < side && right < side;
}

/* One value in any channel is enough if it is not zero: as small as possible, NaN or infinite. The
 * value next to it is -0, which must count as zero. Tiles are looked at in two calls, as threads
 * share them. 126 pixels are one image of 9 by 14. The smallest denormal must not be flushed to
 * zero by the comparison. */
static void a_tile_is_used_that_takes_a_value(void) {
    static const struct shape_case s = {2, 9, 14, 48, 16, 1};
    static const float values[] = {1, -1e-45F, NAN, -INFINITY};
    struct winograd4_picture p = picture_of(&s, false);
    size_t tiles = winograd4_tiles(&p), count = pixels_of(&p);
    float *x = calloc(count * s.in, sizeof *x), *zeros = calloc(s.in, sizeof *zeros);
    bool *used = calloc(tiles, sizeof *used);
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t pixel = 0; pixel < count; pixel++) {
            size_t side = pixel % 2 == 0 ? 4 : 6, at = pixel * s.in + pixel * 7 % s.in;
            p.before = side == 6;
            x[at] = values[pixel % 4];
            x[(pixel + 1) % count * s.in] = -0.0F;
            (*loops)->winograd4_used(&p, x, zeros, side, 0, 1, used);
            (*loops)->winograd4_used(&p, x, zeros, side, 1, tiles, used);
            for (size_t tile = 0; tile < tiles; tile++)
                CU_ASSERT_EQUAL(used[tile],
                                takes(&p, side, tile, pixel / 126, pixel % 126 / 14, pixel % 14));
            x[at] = 0;
        }
    free(x);
    free(zeros);
    free(used);
}

/* Chosen tiles in another order are the same as among all tiles, and the pixels of the others do
 * not change. Inputs are transformed straight back, without products: the result is arbitrary, but
 * must be the same either way. The list is out of order on purpose. */
static void tiles_that_are_chosen_are_made_alone(void) {
    static const struct shape_case s = {2, 6, 9, 16, 16, 1};
    static const uint32_t chosen[] = {10, 2, 3, 7};
    enum { CHOSEN = 4, TILES = 12, ROW = 16 + WINOGRAD4_SLACK };
    struct winograd4_picture in = picture_of(&s, false), out = picture_of(&s, true);
    float *x = loop_values(pixels_of(&in) * 16, ELEM_F32, 0, 1), zeros[16] = {0};
    float *all = matrix_memory(TILES, 16), *some = matrix_memory(TILES, 16);
    float *y = loop_values(pixels_of(&out) * 16, ELEM_F32, 0, 2);
    float *whole = loop_values(pixels_of(&out) * 16, ELEM_F32, 0, 3);
    struct winograd4_matrix a = rows_for(all, TILES, 16), b = rows_for(some, TILES, 16);
    CU_ASSERT_EQUAL_FATAL(winograd4_tiles(&out), TILES);
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        in.chosen = out.chosen = NULL;
        for (size_t i = 0; i < pixels_of(&out) * 16; i++)
            y[i] = 77;
        (*loops)->winograd4_inputs(&in, x, zeros, 0, TILES, &a);
        (*loops)->winograd4_outputs(&out, &a, 0, TILES, 0, &(struct winograd4_end){.y = whole});
        in.chosen = out.chosen = chosen;
        (*loops)->winograd4_inputs(&in, x, zeros, 0, CHOSEN, &b);
        for (size_t place = 0; place < WINOGRAD4_PLACES; place++)
            for (size_t i = 0; i < CHOSEN; i++)
                CU_ASSERT_EQUAL(memcmp(all + place * a.places + chosen[i] * ROW,
                                       some + place * b.places + i * ROW, 16 * sizeof(float)),
                                0);
        (*loops)->winograd4_outputs(&out, &b, 0, CHOSEN, 0, &(struct winograd4_end){.y = y});
        out.chosen = NULL;
        for (size_t pixel = 0; pixel < pixels_of(&out); pixel++) {
            bool is_chosen = false;
            for (size_t i = 0; i < CHOSEN; i++)
                is_chosen |= takes(&out, 4, chosen[i], pixel / 54, pixel % 54 / 9, pixel % 9);
            for (size_t c = 0; c < 16; c++)
                CU_ASSERT_EQUAL(y[pixel * 16 + c], is_chosen ? whole[pixel * 16 + c] : 77);
        }
    }
    free(x);
    free(all);
    free(some);
    free(y);
    free(whole);
}

UNIT_SUITE("cpu.loop_winograd4", UNIT(products_of_tiles_are_those_of_plain_loops),
           UNIT(what_is_not_finite_is_not_lost), UNIT(a_tile_is_used_that_takes_a_value),
           UNIT(tiles_that_are_chosen_are_made_alone))
