/* Convolutions as products of matrices, and their weights, on every instruction set against the
 * sums that struct conv_rows describes. */
#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* Every input's memory ends exactly where its values do, so that a sanitizer sees a read beyond it.
 * Scratch and packed weights are filled with a pattern first: what is not written must not be read.
 * Results are compared with sums in double. */

struct form {
    struct conv_rows rows; /* sizes and taps alone */
    size_t kernel_taps, tap[CONV_TAPS_MAX];
    bool gradient;
    bool bias, side;
};

/* Parts of a form's initializer, since most of them differ in a few numbers: the input, a result of
 * the same size, and the nine taps of a 3x3 window in the order of the weights. */
#define PICTURE(images_, height_, width_, in_)                                                     \
    .images = images_, .height = height_, .width = width_, .in = in_
#define PLAIN(height_, width_, out_)                                                               \
    .grid_height = height_, .grid_width = width_, .step = 1, .out = out_, .y_height = height_,     \
    .y_width = width_, .y_step = 1
#define NINE                                                                                       \
    .taps = 9, .tap = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 0}, {0, 1}, {1, -1}, {1, 0}, {1, 1}}
#define ALL_NINE .kernel_taps = 9, .tap = {0, 1, 2, 3, 4, 5, 6, 7, 8}

/* Sizes are chosen by the kernels' tiles: rows that do and do not fill them, panels of outputs that
 * are partial, and sums deeper than one piece. */
static const struct form forms[] = {
    /* rows of x as they lie, in one block, in several, and deeper than a piece of the sum */
    {.rows = {PICTURE(2, 5, 7, 32), PLAIN(5, 7, 48), .taps = 1}, .kernel_taps = 1},
    {.rows = {PICTURE(1, 20, 17, 16), PLAIN(20, 17, 96), .taps = 1}, .kernel_taps = 1},
    {.rows = {PICTURE(1, 4, 7, 256), PLAIN(4, 7, 32), .taps = 1}, .kernel_taps = 1},
    {.rows = {PICTURE(3, 4, 5, 272), PLAIN(4, 5, 16), .taps = 1, .relu = true},
     .kernel_taps = 1,
     .bias = true,
     .side = true},
    {.rows = {PICTURE(1, 1, 1, 16), PLAIN(1, 1, 16), .taps = 1}, .kernel_taps = 1, .bias = true},
    /* one row after a whole tile, several panels in several pieces; a whole block as deep as its
       memory, and one row after half a tile */
    {.rows = {PICTURE(3, 1, 11, 272), PLAIN(1, 11, 80), .taps = 1, .relu = true},
     .kernel_taps = 1,
     .bias = true,
     .side = true},
    {.rows = {PICTURE(1, 13, 21, 272), PLAIN(13, 21, 16), .taps = 1}, .kernel_taps = 1},
    {.rows = {PICTURE(1, 3, 5, 48), PLAIN(3, 5, 32), .taps = 1, .relu = true}, .kernel_taps = 1},
    {.rows = {PICTURE(1, 3, 5, 48), PLAIN(3, 5, 64), .taps = 1},
     .kernel_taps = 1,
     .gradient = true,
     .side = true},
    /* 1x1 with a window that lies beside its pixel, in either direction */
    {.rows = {PICTURE(2, 4, 5, 16), PLAIN(4, 5, 32), .taps = 1, .tap = {{1, 0}}}, .kernel_taps = 1},
    {.rows = {PICTURE(2, 4, 5, 16), PLAIN(4, 5, 32), .taps = 1, .tap = {{0, -1}}},
     .kernel_taps = 1},
    /* fewer positions than pixels, of rows and of columns */
    {.rows = {PICTURE(2, 6, 5, 16), PLAIN(5, 5, 32), .taps = 1}, .kernel_taps = 1},
    {.rows = {PICTURE(2, 6, 5, 16), PLAIN(6, 4, 32), .taps = 1}, .kernel_taps = 1},
    /* nine taps, forward and turned round */
    {.rows = {PICTURE(2, 6, 5, 16), PLAIN(6, 5, 80), NINE}, ALL_NINE},
    {.rows = {PICTURE(1, 13, 11, 48), PLAIN(13, 11, 32), NINE, .relu = true},
     ALL_NINE,
     .bias = true,
     .side = true},
    {.rows = {PICTURE(2, 3, 9, 64), PLAIN(3, 9, 48), NINE},
     .kernel_taps = 9,
     .tap = {8, 7, 6, 5, 4, 3, 2, 1, 0},
     .gradient = true},
    /* every second pixel */
    {.rows = {PICTURE(2, 9, 7, 32), .grid_height = 5, .grid_width = 4, .step = 2, .out = 48,
              .y_height = 5, .y_width = 4, .y_step = 1, NINE},
     ALL_NINE,
     .bias = true},
    /* one class of places of a strided data gradient, and the one that no tap sees */
    {.rows = {PICTURE(3, 4, 5, 32), .grid_height = 4, .grid_width = 5, .step = 1, .taps = 2,
              .tap = {{0, 0}, {1, 0}}, .out = 48, .y_height = 8, .y_width = 9, .y_step = 2,
              .y_row = 1},
     .kernel_taps = 9,
     .tap = {7, 1},
     .gradient = true},
    {.rows = {PICTURE(2, 4, 4, 16), .grid_height = 4, .grid_width = 4, .step = 1, .out = 32,
              .y_height = 8, .y_width = 8, .y_step = 2, .y_column = 1},
     .kernel_taps = 1,
     .gradient = true},
};
/* Comments in the table tell what each group is for. */
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

/* COUNT values that end where their memory does. The values are random but the same for each
 * SEED. */
static float *exact(size_t count, uint32_t seed) {
    float *values = loop_values(count, ELEM_F32, 0, seed);
    float *tight = aligned_alloc(64, count * sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(tight);
    memcpy(tight, values, count * sizeof(float));
    free(values);
    return tight;
}

/* Elements of the result, including those that no position writes. */
static size_t y_count(const struct conv_rows *c) {
    return c->images * c->y_height * c->y_width * c->out;
}

/* The pixel of y that belongs to position POSITION. Images are whole, so a position's image is also
 * its pixel's. */
static size_t pixel_of(const struct conv_rows *c, size_t position) {
    size_t column = position % c->grid_width, row = position / c->grid_width % c->grid_height;
    size_t image = position / c->grid_width / c->grid_height;
    return (image * c->y_height + row * c->y_step + c->y_row) * c->y_width + column * c->y_step +
           c->y_column;
}

/* The definition: taps outside the picture add nothing. */
static double sum_at(const struct form *f, const struct conv_rows *c, const float *w,
                     size_t position, size_t out) {
    size_t column = position % c->grid_width, row = position / c->grid_width % c->grid_height;
    size_t image = position / c->grid_width / c->grid_height;
    double sum = 0;
    for (size_t t = 0; t < c->taps; t++) {
        size_t y = row * c->step + (size_t)c->tap[t].y, x = column * c->step + (size_t)c->tap[t].x;
        if (y >= c->height || x >= c->width) /* below 0, too */
            continue;
        const float *pixel = c->x + ((image * c->height + y) * c->width + x) * c->in;
        for (size_t in = 0; in < c->in; in++)
            sum += (double)pixel[in] *
                   (double)(f->gradient ? w[(in * f->kernel_taps + f->tap[t]) * c->out + out]
                                        : w[(out * f->kernel_taps + f->tap[t]) * c->in + in]);
    }
    return sum;
}

/* Pixels that no position writes must keep what they had before. The bound grows with the length of
 * the sum, as rounding does (loop_near). */
static void check_results(const struct form *f, const struct conv_rows *c, const float *w,
                          const float *before) {
    bool *made = calloc(y_count(c) / c->out, sizeof(bool));
    double length = (double)(c->taps * c->in) + 1;
    for (size_t position = 0; position < conv_rows_positions(c); position++) {
        size_t pixel = pixel_of(c, position);
        made[pixel] = true;
        for (size_t out = 0; out < c->out; out++) {
            double expected = sum_at(f, c, w, position, out);
            expected += c->bias != NULL ? (double)c->bias[out] : 0;
            expected += c->side != NULL ? (double)c->side[pixel * c->out + out] : 0;
            expected = c->relu && expected < 0 ? 0 : expected;
            CU_ASSERT(loop_near(c->y[pixel * c->out + out], expected, ELEM_F32, length));
        }
    }
    for (size_t i = 0; i < y_count(c); i++)
        if (!made[i / c->out])
            CU_ASSERT_EQUAL(c->y[i], before[i]);
    free(made);
}

/* Blocks of MOST positions, each by two calls for the panels of outputs. This shows that results do
 * not depend on how the work is cut. */
static void run(const struct loops *loops, const struct conv_rows *c, size_t most) {
    size_t positions = conv_rows_positions(c);
    size_t panels = (c->out + loops->conv_rows_panel() - 1) / loops->conv_rows_panel();
    for (size_t begin = 0; begin < positions; begin += most) {
        size_t end = begin + most < positions ? begin + most : positions;
        loops->conv_rows_run(c, begin, end, 0, panels / 2);
        loops->conv_rows_run(c, begin, end, panels / 2, panels);
    }
}

/* Packs the weights in two calls, as threads do, and runs with blocks of three sizes. A result
 * without a bias or a side gets NULL for it. */
static void check(const struct loops *loops, const struct form *f) {
    struct conv_rows c = f->rows;
    struct conv_rows_pack pack = {.in = c.in,
                                  .out = c.out,
                                  .kernel_taps = f->kernel_taps,
                                  .taps = c.taps,
                                  .gradient = f->gradient};
    memcpy(pack.tap, f->tap, sizeof(pack.tap));
    size_t panels = (c.out + loops->conv_rows_panel() - 1) / loops->conv_rows_panel();
    float *w = exact(c.in * f->kernel_taps * c.out, 1);
    float *x = exact(c.images * c.height * c.width * c.in, 2);
    float *y = exact(y_count(&c), 3), *before = exact(y_count(&c), 3);
    float *side = exact(y_count(&c), 4), *bias = exact(c.out, 5);
    float *weights = loop_unwritten(loops->conv_rows_weights(&pack));
    pack.w = w;
    pack.weights = weights;
    loops->conv_rows_pack(&pack, 0, 1);
    loops->conv_rows_pack(&pack, 1, panels);
    c.x = x;
    c.y = y;
    c.weights = weights;
    c.bias = f->bias ? bias : NULL;
    c.side = f->side ? side : NULL;
    c.scratch = loop_unwritten(loops->conv_rows_scratch(&c) / sizeof(float));
    for (size_t most = loops->conv_rows_block(); most > 4; most = most > 11 ? 11 : 4) {
        memcpy(y, before, y_count(&c) * sizeof(float));
        run(loops, &c, most);
        check_results(f, &c, w, before);
    }
    free(w);
    free(x);
    free(y);
    free(before);
    free(side);
    free(bias);
    free(weights);
    free(c.scratch);
}

/* All instruction sets that this processor can run. Each has its own size of tiles, so each form
 * means another remainder. */
static void products_are_those_of_plain_loops(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < FORMS; i++)
            check(*loops, &forms[i]);
}

UNIT_SUITE("cpu.loop_conv_rows", UNIT(products_are_those_of_plain_loops))
