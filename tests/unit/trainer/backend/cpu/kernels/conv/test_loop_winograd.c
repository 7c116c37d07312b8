#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* Winograd's kernels in bf16, forward with each end, as a data gradient, and as a weight gradient,
 * compared with direct sums in double. Transformed values are rounded to bf16, so results are near
 * and not equal; the bounds below are far above that rounding and far below a wrong tap or tile.
 *
 * Tests run on processors with AVX-512 BF16; elsewhere the suite says that it was skipped. */

/* A convolution of 3x3 with stride 1 and padding 1: input and output have one size. Channels are
 * those of the picture that is read and of the one that is made. */
struct shape_case {
    size_t images, height, width, in, out;
};

/* Tiles that hang over the edge, one that is larger than the picture, odd counts of tiles, several
 * groups of channels, and more tiles than a block of the kernels holds. Channels are multiples of
 * 64, as the kernels ask for. */
static const struct shape_case shapes[] = {
    {1, 1, 1, 64, 64},  {2, 4, 6, 64, 128},  {1, 5, 7, 128, 64},
    {3, 3, 2, 192, 64}, {5, 13, 12, 64, 64},
};
enum { CASES = sizeof(shapes) / sizeof(shapes[0]) };

/* Transformed values are rounded to bf16: of sums of COUNT products below 1, this is far out.
 * Rounding errors of independent terms grow with the root of their number. The second term is
 * bf16's own rounding of the result. */
static bool is_near(float value, double expected, double count) {
    return fabs((double)value - expected) <= 0.02 * sqrt(count) + fabs(expected) / 256;
}

/* The pixel that PIXEL reads at TAP, counted over all images; false outside the picture.
 * Coordinates are shifted by one, to stay unsigned. */
static bool find_tap(const struct shape_case *s, size_t pixel, size_t tap, size_t *ret) {
    size_t row = pixel / s->width % s->height + tap / 3, column = pixel % s->width + tap % 3;
    *ret = pixel + (tap / 3) * s->width + tap % 3 - s->width - 1;
    return row >= 1 && row <= s->height && column >= 1 && column <= s->width;
}

/* One output as a direct sum. A data gradient has its taps rotated and inputs and outputs
 * exchanged. The taps of a gradient are counted from the end. */
static double output_of(const struct shape_case *s, const void *x, const float *w, bool gradient,
                        size_t pixel, size_t out) {
    double sum = 0;
    for (size_t tap = 0; tap < 9; tap++) {
        size_t from;
        if (!find_tap(s, pixel, tap, &from))
            continue;
        for (size_t in = 0; in < s->in; in++)
            sum += (double)loop_get(x, from * s->in + in, ELEM_BF16) *
                   (double)(gradient ? w[(in * 9 + 8 - tap) * s->out + out]
                                     : w[(out * 9 + tap) * s->in + in]);
    }
    return sum;
}

/* Packs and runs in two unequal calls each, as threads share the work. Every seventh output is
 * enough, since neighbours are computed by the same instructions. Memory of the result and the
 * scratch begins with other values. */
static void check_forward(const struct loops *loops, const struct shape_case *s, bool gradient,
                          const struct bf16_end *end) {
    struct winograd form = {.images = s->images,
                            .height = s->height,
                            .width = s->width,
                            .in = s->in,
                            .out = s->out,
                            .end = *end};
    size_t pixels = s->images * s->height * s->width;
    size_t tiles = s->images * winograd_tiles(s->height) * winograd_tiles(s->width);
    CU_ASSERT_FATAL(loops_have_winograd(loops, &form));
    void *x = loop_values(pixels * s->in, ELEM_BF16, 0, 1);
    float *w = loop_values(9 * s->in * s->out, ELEM_F32, 0, 2);
    void *y = loop_values(pixels * s->out, ELEM_BF16, 5, 3);
    void *scratch = loop_values(loops->winograd_scratch(&form), ELEM_BF16, 0, 4);
    void *weights = loop_values(winograd_weight_bytes(s->in, s->out), ELEM_BF16, 0, 5);
    struct own_pack pack = {s->in, s->out, gradient, w, weights};
    loops->winograd_pack(&pack, 0, 1);
    loops->winograd_pack(&pack, 1, pack_units(&pack));
    form.x = x;
    form.y = y;
    form.weights = weights;
    form.scratch = scratch;
    loops->winograd_run(&form, 0, tiles / 3);
    loops->winograd_run(&form, tiles / 3, tiles);
    for (size_t pixel = 0; pixel < pixels; pixel++)
        for (size_t out = 0; out < s->out; out += 7)
            CU_ASSERT(is_near(loop_get(y, pixel * s->out + out, ELEM_BF16),
                              loop_ended(end, pixel * s->out + out, out,
                                         output_of(s, x, w, gradient, pixel, out)),
                              9 * (double)s->in));
    free(x);
    free(w);
    free(y);
    free(scratch);
    free(weights);
}

/* Each term of the end alone, and all of them; far from 0, as sums are not exact. Far from 0, so
 * that a missing term is larger than the bound. Terms are tested alone and together, since each is
 * a branch of its own. */
static void check_ends(const struct loops *loops, const struct shape_case *s) {
    float *bias = loop_values(s->out, ELEM_F32, 9, 6);
    void *side = loop_values(s->images * s->height * s->width * s->out, ELEM_BF16, -9, 7);
    check_forward(loops, s, false, &(struct bf16_end){.bias = bias});
    check_forward(loops, s, false, &(struct bf16_end){.side = side});
    check_forward(loops, s, false, &(struct bf16_end){.relu = true});
    check_forward(loops, s, false, &(struct bf16_end){.bias = bias, .side = side, .relu = true});
    free(bias);
    free(side);
}

/* One element of dw as a direct sum over all pixels of the batch. Pixels that read outside the
 * picture add nothing. */
static double weight_of(const struct shape_case *s, const void *x, const void *dy, size_t out,
                        size_t tap, size_t in) {
    double sum = 0;
    for (size_t pixel = 0; pixel < s->images * s->height * s->width; pixel++) {
        size_t from;
        if (find_tap(s, pixel, tap, &from))
            sum += (double)loop_get(x, from * s->in + in, ELEM_BF16) *
                   (double)loop_get(dy, pixel * s->out + out, ELEM_BF16);
    }
    return sum;
}

/* Units are computed one by one, in separate calls with one scratch. Every eleventh element visits
 * all taps, as 11 and 9 have no common factor. dw begins with other values, since units are
 * overwritten. */
static void check_weight(const struct loops *loops, const struct shape_case *s) {
    size_t pixels = s->images * s->height * s->width;
    struct weight_part part = {.elem = ELEM_BF16,
                               .height = s->height,
                               .width = s->width,
                               .in = s->in,
                               .out_height = s->height,
                               .out_width = s->width,
                               .out = s->out,
                               .kernel = 3,
                               .taps = 9,
                               .stride = 1,
                               .pad = 1,
                               .end = s->images * winograd_tiles(s->height) *
                                      winograd_tiles(s->width)};
    CU_ASSERT_FATAL(weight_kernel_supports(&loops->winograd_weight, &part));
    void *x = loop_values(pixels * s->in, ELEM_BF16, 0, 1);
    void *dy = loop_values(pixels * s->out, ELEM_BF16, 0, 2);
    float *dw = loop_values(9 * s->in * s->out, ELEM_F32, 5, 3);
    void *scratch = loop_values(loops->winograd_weight.scratch(&part), ELEM_BF16, 0, 4);
    part.x = x;
    part.dy = dy;
    part.dw = dw;
    part.scratch = scratch;
    for (size_t unit = 0; unit < weight_groups(s->in) * weight_groups(s->out); unit++) {
        part.unit_begin = unit;
        part.unit_end = unit + 1;
        loops->winograd_weight.run(&part);
    }
    for (size_t i = 0; i < 9 * s->in * s->out; i += 11)
        CU_ASSERT(is_near(dw[i], weight_of(s, x, dy, i / s->in / 9, i / s->in % 9, i % s->in),
                          (double)pixels));
    free(x);
    free(dy);
    free(dw);
    free(scratch);
}

/* The processor may have several tables with these kernels. A gradient is checked without ends,
 * which it never has. */
static void products_of_tiles_are_those_of_plain_loops(void) {
    bool any = false;
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        struct winograd form = {.in = 64, .out = 64};
        if (!loops_have_winograd(*loops, &form))
            continue;
        any = true;
        for (size_t i = 0; i < CASES; i++) {
            check_forward(*loops, &shapes[i], false, &(struct bf16_end){0});
            check_forward(*loops, &shapes[i], true, &(struct bf16_end){0});
            check_ends(*loops, &shapes[i]);
            check_weight(*loops, &shapes[i]);
        }
    }
    if (!any)
        unit_skip("this processor has no bf16 products of its own");
}

/* What the kernels cannot compute must be refused by their own test: too few channels, a stride,
 * f32. conv_weight.c then tries the next kernel. */
static void other_shapes_are_left_to_others(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        struct winograd form = {.in = 16, .out = 64};
        struct weight_part part = {
            .elem = ELEM_BF16, .in = 64, .out = 64, .kernel = 3, .taps = 9, .stride = 2, .pad = 1};
        CU_ASSERT_FALSE(loops_have_winograd(*loops, &form));
        CU_ASSERT_FALSE(weight_kernel_supports(&(*loops)->winograd_weight, &part));
        part.stride = 1;
        part.elem = ELEM_F32;
        CU_ASSERT_FALSE(weight_kernel_supports(&(*loops)->winograd_weight, &part));
    }
}

UNIT_SUITE("cpu.loop_winograd", UNIT(products_of_tiles_are_those_of_plain_loops),
           UNIT(other_shapes_are_left_to_others))
