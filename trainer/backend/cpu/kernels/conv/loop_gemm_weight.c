/* f32 weight gradient as a matrix product: [out][pixels] of dy times [pixels][taps * in] of x.
 * Both sides of a block of pixels are packed for one group of results at a time, so that they stay
 * in the L2 cache; packing gathers the taps. With wide registers, where products are fast compared
 * with packing, groups are larger and packed less often. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"

/* A unit is one group of outputs by one group of columns (tap and channel). For every block of
 * pixels both sides are packed, in panels as the inner product of loop_gemm.h reads them, and all
 * tiles of the unit are multiplied. Sums stay in scratch until the last block, and unpack() writes
 * dw once.
 *
 * Packing is repeated for each group of the other side, which is why groups are as large as the L2
 * cache allows. */

/* Pixels of a block, and the most outputs and columns of a group. Panels are offset by a cache
 * line, so that they use different sets of the caches. */
enum { PIXELS = 192, GROUP = GEMM_ROWS == 6 ? 256 : 512, LINE = 16 };
enum { SPLIT = GEMM_STEP > 1, A_FLOATS = PIXELS * GEMM_ROWS * GEMM_HALVES / 2 };
enum { A_PANEL = A_FLOATS + 2 * LINE, B_PANEL = PIXELS * GEMM_COLUMNS + LINE };
/* Size of a split panel of columns. */
enum { B_SPLIT = SPLIT ? PIXELS * GEMM_COLUMNS * GEMM_HALVES / 2 : 0 };
enum { A_PANELS = (GROUP + GEMM_ROWS - 1) / GEMM_ROWS, B_PANELS = GROUP / GEMM_COLUMNS };
enum { TILE = GEMM_ROWS * GEMM_COLUMNS, SUMS = A_PANELS * B_PANELS * TILE };

/* For a picture with few channels, the taps of a row are side by side, and a row of the window
 * takes whole registers of columns; values read past it become sums that are never used. */
static size_t window_row(const struct weight_part *p) {
    return (p->kernel * p->in + LANES - 1) / LANES * LANES;
}

/* Either channels fill whole vectors, or all taps of the window fit one group of columns, as for
 * the three colours of a picture. */
bool LOOP(gemm_weight_supported)(const struct weight_part *part) {
    return part->elem == ELEM_F32 && part->out % 16 == 0 &&
           (part->in % 16 == 0 || window_row(part) * part->kernel <= GROUP);
}

/* Outputs, and columns, of a unit; conv_weight.c cuts the results by it. */
size_t LOOP(gemm_weight_group)(void) {
    return GROUP;
}

/* Packed dy, packed x, the group's sums and, on AMX, one split panel; the same for every shape. */
size_t LOOP(gemm_weight_scratch)(const struct weight_part *part) {
    (void)part;
    return (A_PANELS * (size_t)A_PANEL + B_PANELS * (size_t)B_PANEL + (size_t)SUMS + B_SPLIT) *
           sizeof(float);
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* One group of results and the block of pixels to add. */
struct block {
    const struct weight_part *part;
    size_t out, outs, column, columns; /* of dw */
    size_t pixel, pixels;
    bool windows; /* all taps of few channels together */
    float *a, *b, *sums, *split;
};

#ifdef LOOP_HAS_AMX
/* Packs outputs as rows of pixels, followed by zeros. */
static void pack_outputs(const struct block *k) {
    const float *dy = (const float *)k->part->dy + k->pixel * k->part->out + k->out;
    size_t stride = gemm_floats(gemm_steps(k->pixels));
    for (size_t p = 0; p < k->pixels; p += SPLIT_STEP)
        for (size_t o = 0; o < k->outs; o += SPLIT_SIDE)
            split_columns(k->a + o / GEMM_ROWS * A_PANEL, stride, o % GEMM_ROWS, p,
                          dy + p * k->part->out + o, k->part->out, k->pixels - p);
}
#else
/* Packs [panel][pixel][GEMM_ROWS] of dy, in whole registers, each overwriting the end of the one
 * before. They may read into the next pixel; after the last pixel there is nothing to read. */
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
#endif

/* Finds a tap's pixels: NULL outside the picture. Walks the output pixels from the block's first
 * one on, so that divisions are needed once. */
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

/* Packs [panel][pixel][GEMM_COLUMNS] of x, pixel by pixel, in memory order. Columns run over (tap,
 * channel), so a group may begin within a tap. Pixels outside the picture are zeros. */
static void pack_columns(const struct block *k) {
    const float *pixel[PIXELS];
    size_t in = k->part->in, some;
    for (size_t j = 0; j < k->columns; j += some) {
        size_t channel = (k->column + j) % in;
        some = smaller(in - channel, k->columns - j);
        find_pixels(k, (k->column + j) / in, pixel);
        for (size_t i = 0; i < k->pixels; i++) {
            const float *from = pixel[i] != NULL ? pixel[i] + channel : NULL;
            for (size_t at = 0; at < some; at += LANES) {
                float *panel = k->b + (j + at) / GEMM_COLUMNS * B_PANEL + (j + at) % GEMM_COLUMNS;
                vec_store(panel, i * GEMM_COLUMNS,
                          from != NULL ? vec_load(from, at, ELEM_F32) : vec_set(0), ELEM_F32);
            }
        }
    }
}

/* Copies a window's row that leaves the picture, from COLUMN on, or is its last one. The fast path
 * reads whole vectors past the window's row; here that would leave the picture's memory or take
 * pixels of its other side for padding. */
static void copy_row(const struct weight_part *p, const float *row, size_t column, float *to) {
    size_t left = column < p->pad ? p->pad - column : 0, right = p->width + p->pad - column;
    size_t end = smaller(right, p->kernel);
    memset(to, 0, window_row(p) * sizeof(float));
    if (row != NULL && left < end)
        memcpy(to + left * p->in, row + (column + left - p->pad) * p->in,
               (end - left) * p->in * sizeof(float));
}

/* Packs one output pixel: as pack_columns(), all taps together. The wrap-around of unsigned numbers
 * makes rows above the picture larger than its height. */
VEC_INLINE void pack_window(const struct block *k, const float *picture, size_t row, size_t column,
                            float *to) {
    const struct weight_part *p = k->part;
    float copied[GROUP];
    size_t j = 0;
    for (size_t tap = 0; tap < p->kernel; tap++) {
        size_t y = row + tap - p->pad;
        const float *from = y < p->height ? picture + y * p->width * p->in : NULL;
        if (from == NULL || column < p->pad || column + p->kernel - p->pad > p->width ||
            y + 1 == p->height) {
            copy_row(p, from, column, copied);
            from = copied;
        } else {
            from += (column - p->pad) * p->in;
        }
        for (size_t at = 0; at < window_row(p); at += LANES, j += LANES)
            vec_store(to + j / GEMM_COLUMNS * B_PANEL, j % GEMM_COLUMNS,
                      vec_load(from, at, ELEM_F32), ELEM_F32);
    }
}

/* The same walk as in find_pixels(), but all taps of a pixel are packed at once. */
static void pack_windows(const struct block *k) {
    const struct weight_part *p = k->part;
    size_t column = k->pixel % p->out_width, row = k->pixel / p->out_width % p->out_height;
    const float *picture = (const float *)p->x +
                           k->pixel / p->out_width / p->out_height * p->height * p->width * p->in;
    for (size_t i = 0; i < k->pixels; i++) {
        pack_window(k, picture, row * p->stride, column * p->stride, k->b + i * GEMM_COLUMNS);
        if (++column < p->out_width)
            continue;
        column = 0;
        if (++row == p->out_height) {
            row = 0;
            picture += p->height * p->width * p->in;
        }
    }
}

/* Memory that the next block packs: with each tile a pixel of dy and, with a single tap and no
 * stride, of x is prefetched. */
struct ahead {
    const float *dy, *dy_end, *x;
};

/* After the last block nothing is prefetched: DY then begins at its end. */
static struct ahead ahead_of(const struct block *k) {
    const struct weight_part *p = k->part;
    size_t next = k->pixel + k->pixels, end = smaller(next + PIXELS, p->end);
    const float *dy = (const float *)p->dy + k->out, *x = (const float *)p->x + k->column;
    return (struct ahead){.dy = dy + next * p->out,
                          .dy_end = dy + end * p->out,
                          .x = p->taps == 1 && p->stride == 1 ? x + next * p->in : NULL};
}

/* One pixel's channels of each side for each tile. */
VEC_INLINE void ask(const struct block *k, struct ahead *ahead, struct gemm_tile *tile) {
    if (ahead->dy >= ahead->dy_end)
        return;
    size_t most = k->columns > k->outs && ahead->x != NULL ? k->columns : k->outs;
    tile->soon_lines = (most + LINE - 1) / LINE;
    tile->soon[0] = tile->soon[1] = (const char *)ahead->dy;
    ahead->dy += k->part->out;
    if (ahead->x != NULL) {
        tile->soon[1] = (const char *)ahead->x;
        ahead->x += k->part->in;
    }
}

/* Location of a tile's sums until they are complete: side by side, because rows of dw are a
 * multiple of a page apart and would map to the same few sets of the caches. */
VEC_INLINE float *sums_at(const struct block *k, size_t out, size_t column) {
    return k->sums + (column / GEMM_COLUMNS * A_PANELS + out / GEMM_ROWS) * TILE;
}

/* Columns from COLUMN on, as a tile reads them, and the product. */
#ifdef LOOP_HAS_AMX
#define PRODUCT LOOP(gemm_rows)
static const float *panel_of(const struct block *k, size_t column) {
    split_panel(k->split, k->b + column / GEMM_COLUMNS * B_PANEL, k->pixels);
    return k->split;
}
#else
#define PRODUCT LOOP(gemm_columns)
static const float *panel_of(const struct block *k, size_t column) {
    return k->b + column / GEMM_COLUMNS * B_PANEL;
}
#endif

/* Adds the block's products to the group's sums; the first block sets them. Panels are the outer
 * loop: each is split (on AMX) or stays in the L1 cache while all rows of outputs pass. */
static void multiply(const struct block *k, bool add) {
    struct ahead ahead = ahead_of(k);
    struct gemm_queue queue;
    LOOP(gemm_begin)(&queue);
    for (size_t j = 0; j < k->columns; j += GEMM_COLUMNS) {
        const float *panel = panel_of(k, j);
        for (size_t o = 0; o < k->outs; o += GEMM_ROWS) {
            struct gemm_slot *slot = gemm_next(&queue);
            struct gemm_tile *tile = &slot->tile;
            for (size_t i = 0; i < GEMM_ROWS; i++)
                slot->c[i] = sums_at(k, o, j) + i * GEMM_COLUMNS;
            tile->a = k->a + o / GEMM_ROWS * A_PANEL;
            tile->stride = SPLIT ? gemm_floats(gemm_steps(k->pixels)) : GEMM_ROWS;
            tile->b = panel;
            tile->k = gemm_steps(k->pixels);
            tile->rows = GEMM_ROWS;
            tile->add = add;
            ask(k, &ahead, tile);
            PRODUCT(&queue);
        }
    }
    LOOP(gemm_end)(&queue);
}

/* Copies the finished sums into dw. With windows, columns were padded to whole vectors for each row
 * of the window; the padding is dropped here. */
static void unpack(const struct block *k) {
    const struct weight_part *p = k->part;
    size_t row = p->taps * p->in;
    for (size_t o = 0; o < k->outs; o++) {
        float *dw = p->dw + (k->out + o) * row + k->column;
        for (size_t j = 0; j < k->columns; j += LANES) {
            const float *sums = sums_at(k, o, j) + o % GEMM_ROWS * GEMM_COLUMNS;
            size_t at = j % window_row(p), wanted = p->kernel * p->in;
            if (!k->windows)
                vec_store(dw, j, vec_load(sums, j % GEMM_COLUMNS, ELEM_F32), ELEM_F32);
            else
                memcpy(dw + j / window_row(p) * wanted + at, sums + j % GEMM_COLUMNS,
                       smaller(LANES, wanted - at) * sizeof(float));
        }
    }
}

/* Each unit owns its results. Blocks of pixels are added in order, so the sums do not depend on
 * which thread takes a unit. */
void LOOP(gemm_weight_run)(const struct weight_part *part) {
    bool windows = part->in % 16 != 0;
    size_t columns = windows ? part->kernel * window_row(part) : part->taps * part->in;
    size_t groups = (columns + GROUP - 1) / GROUP;
    for (size_t unit = part->unit_begin; unit < part->unit_end; unit++) {
        struct block k = {.part = part,
                          .out = unit / groups * GROUP,
                          .column = unit % groups * GROUP,
                          .windows = windows,
                          .a = part->scratch};
        k.b = k.a + A_PANELS * (size_t)A_PANEL;
        k.sums = k.b + B_PANELS * (size_t)B_PANEL;
        k.split = k.sums + SUMS;
        k.outs = smaller(GROUP, part->out - k.out);
        k.columns = smaller(GROUP, columns - k.column);
        for (k.pixel = part->begin; k.pixel < part->end; k.pixel += k.pixels) {
            k.pixels = smaller(PIXELS, part->end - k.pixel);
            pack_outputs(&k);
            if (k.windows)
                pack_windows(&k);
            else
                pack_columns(&k);
            multiply(&k, k.pixel > part->begin);
        }
        unpack(&k);
    }
}
