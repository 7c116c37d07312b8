/* A weight gradient in f32 as a product of matrices: [out][pixels] of dy times [pixels][taps * in]
 * of x. Both sides of a block of pixels are packed for one group of results at a time, so that they
 * stay in the second cache; taps are followed on the way. */
#include "cpu/loop_gemm.h"

/* Pixels of a block, and the most outputs and columns of a group. A panel begins a line late, so
 * that panels lie in different sets of the caches. */
enum { PIXELS = 128, GROUP = GEMM_WEIGHT_GROUP, LINE = 16 };
enum { A_PANEL = PIXELS * GEMM_ROWS + 2 * LINE, B_PANEL = PIXELS * GEMM_COLUMNS + LINE };
enum { A_PANELS = (GROUP + GEMM_ROWS - 1) / GEMM_ROWS, B_PANELS = GROUP / GEMM_COLUMNS };

bool LOOP(gemm_weight_supported)(const struct weight_part *part) {
    return part->elem == ELEM_F32 && part->in % 16 == 0 && part->out % 16 == 0;
}

size_t LOOP(gemm_weight_scratch)(const struct weight_part *part) {
    (void)part;
    return (A_PANELS * (size_t)A_PANEL + B_PANELS * (size_t)B_PANEL) * sizeof(float);
}

/* One group of results and the block of pixels that is added. */
struct block {
    const struct weight_part *part;
    size_t out, outs, column, columns; /* of dw */
    size_t pixel, pixels;
    float *a, *b;
};

/* [panel][pixel][GEMM_ROWS] of dy, by whole registers, each over the end of the one before. They
 * may read on into the next pixel; behind the last one there is nothing to read. */
static void pack_outputs(const struct block *k) {
    const float *dy = (const float *)k->part->dy + k->pixel * k->part->out + k->out;
    for (size_t p = 0; p < k->pixels; p++, dy += k->part->out) {
        float *to = k->a + p * GEMM_ROWS;
        for (size_t o = 0; o < k->outs; o += GEMM_ROWS, to += A_PANEL)
            for (size_t i = 0; i < GEMM_ROWS && o + i < k->outs; i += LANES) {
                size_t left = k->outs - o - i;
                if (left >= LANES || p + 1 < k->pixels)
                    vec_store(to, i, vec_load(dy + o, i, ELEM_F32), ELEM_F32);
                else
                    memcpy(to + i, dy + o + i, left * sizeof(float));
            }
    }
}

/* Where a tap's pixels lie: NULL outside of the picture. */
static void find_pixels(const struct block *k, size_t tap, const float **pixel) {
    const struct weight_part *p = k->part;
    size_t column = k->pixel % p->out_width, row = k->pixel / p->out_width % p->out_height;
    const float *image = (const float *)p->x +
                         k->pixel / p->out_width / p->out_height * p->height * p->width * p->in;
    for (size_t i = 0; i < k->pixels; i++) {
        size_t y = row * p->stride + tap / p->kernel, x = column * p->stride + tap % p->kernel;
        bool inside = y >= p->pad && x >= p->pad && y - p->pad < p->height && x - p->pad < p->width;
        pixel[i] = inside ? image + ((y - p->pad) * p->width + x - p->pad) * p->in : NULL;
        if (++column == p->out_width) {
            column = 0;
            if (++row == p->out_height) {
                row = 0;
                image += p->height * p->width * p->in;
            }
        }
    }
}

/* [panel][pixel][GEMM_COLUMNS] of x, LANES channels of one tap at once. */
static void pack_columns(const struct block *k) {
    const float *pixel[PIXELS];
    size_t in = k->part->in;
    for (size_t j = 0; j < k->columns; j += LANES) {
        size_t channel = (k->column + j) % in;
        if (j == 0 || channel == 0)
            find_pixels(k, (k->column + j) / in, pixel);
        float *to = k->b + j / GEMM_COLUMNS * B_PANEL + j % GEMM_COLUMNS;
        for (size_t i = 0; i < k->pixels; i++, to += GEMM_COLUMNS)
            vec_store(to, 0,
                      pixel[i] != NULL ? vec_load(pixel[i] + channel, 0, ELEM_F32) : vec_set(0),
                      ELEM_F32);
    }
}

/* Adds the block's products to the group's results; the first one sets them. */
static void multiply(const struct block *k, bool add) {
    const struct weight_part *p = k->part;
    size_t row = p->taps * p->in;
    for (size_t j = 0; j < k->columns; j += GEMM_COLUMNS)
        for (size_t o = 0; o < k->outs; o += GEMM_ROWS) {
            float *c[GEMM_ROWS];
            struct gemm_tile tile = {.a = k->a + o / GEMM_ROWS * A_PANEL,
                                     .stride = GEMM_ROWS,
                                     .b = k->b + j / GEMM_COLUMNS * B_PANEL,
                                     .k = k->pixels,
                                     .c = c,
                                     .rows = k->outs - o < GEMM_ROWS ? k->outs - o : GEMM_ROWS,
                                     .half = k->columns - j < GEMM_COLUMNS,
                                     .add = add};
            for (size_t i = 0; i < tile.rows; i++)
                c[i] = p->dw + (k->out + o + i) * row + k->column + j;
            LOOP(gemm_columns)(&tile);
        }
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void LOOP(gemm_weight_run)(const struct weight_part *part) {
    size_t columns = part->taps * part->in, groups = (columns + GROUP - 1) / GROUP;
    for (size_t unit = part->unit_begin; unit < part->unit_end; unit++) {
        struct block k = {.part = part,
                          .out = unit / groups * GROUP,
                          .column = unit % groups * GROUP,
                          .a = part->scratch};
        k.b = k.a + A_PANELS * (size_t)A_PANEL;
        k.outs = smaller(GROUP, part->out - k.out);
        k.columns = smaller(GROUP, columns - k.column);
        for (k.pixel = part->begin; k.pixel < part->end; k.pixel += k.pixels) {
            k.pixels = smaller(PIXELS, part->end - k.pixel);
            pack_outputs(&k);
            pack_columns(&k);
            multiply(&k, k.pixel > part->begin);
        }
    }
}
