/* f32 convolutions as matrix products (loops.h, struct conv_rows). For a block of positions, the
 * channels of their pixels are copied side by side, tap after tap, at most GEMM_DEPTH values of
 * each at a time (im2col, in pieces that stay in the L2 cache), and multiplied by all weights. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"

/* Copying costs one pass over the taps' pixels; in exchange, the product reads rows of equal
 * stride, whatever the window, stride and padding are. The copy is of one piece of the depth for
 * one block, so it is read from the L2 cache by all panels of outputs. A 1x1 convolution that reads
 * every pixel needs no copy (is_matrix).
 *
 * C is written by a queue of tiles (loop_gemm.h), on AMX one tile late. Bias, side and ReLU follow
 * the last piece of the depth. */

enum { BLOCK = GEMM_ROWS == 32 ? 8 * 32 : GEMM_ROWS == 14 ? 8 * 14 : 16 * 6 };

/* Stride of the copied rows: each row starts in another set of the L1 cache. */
static size_t stride_of(size_t depth) {
    return GEMM_STEP > 1 ? gemm_floats(gemm_steps(depth)) : GEMM_DEPTH + 16;
}

/* Positions that a call handles at most; conv_gemm.c cuts the work by it. */
size_t LOOP(conv_rows_block)(void) {
    return BLOCK;
}

/* Outputs of a panel of packed weights. */
size_t LOOP(conv_rows_panel)(void) {
    return GEMM_COLUMNS;
}

size_t LOOP(conv_rows_scratch)(const struct conv_rows *c) {
    (void)c;
    return (size_t)BLOCK * stride_of(GEMM_DEPTH) * sizeof(float);
}

/* Addresses that a block's positions read and write. */
struct places {
    const float *image[BLOCK];
    ptrdiff_t y[BLOCK], x[BLOCK]; /* of tap (0, 0) */
    float *to[BLOCK];
    const float *side[BLOCK];
};

/* Walks the grid from position BEGIN on, so that divisions are needed once a block. Coordinates in
 * x may be negative after a tap is added, hence the signed type. */
static void find_places(const struct conv_rows *c, size_t begin, size_t count, struct places *at) {
    size_t column = begin % c->grid_width, row = begin / c->grid_width % c->grid_height;
    size_t image = begin / c->grid_width / c->grid_height;
    for (size_t i = 0; i < count; i++) {
        size_t y = (image * c->y_height + row * c->y_step + c->y_row) * c->y_width +
                   column * c->y_step + c->y_column;
        at->image[i] = c->x + image * c->height * c->width * c->in;
        at->y[i] = (ptrdiff_t)(row * c->step);
        at->x[i] = (ptrdiff_t)(column * c->step);
        at->to[i] = c->y + y * c->out;
        at->side[i] = c->side != NULL ? c->side + y * c->out : NULL;
        if (++column == c->grid_width) {
            column = 0;
            if (++row == c->grid_height) {
                row = 0;
                image++;
            }
        }
    }
}

/* Returns the channels of one tap, or NULL outside the picture. */
VEC_INLINE const float *pixel_of(const struct conv_rows *c, const struct places *at, size_t i,
                                 const struct conv_tap *tap) {
    ptrdiff_t y = at->y[i] + tap->y, x = at->x[i] + tap->x;
    if (y < 0 || x < 0 || y >= (ptrdiff_t)c->height || x >= (ptrdiff_t)c->width)
        return NULL;
    return at->image[i] + ((size_t)y * c->width + (size_t)x) * c->in;
}

/* Copies values [k, k + COUNT) of a row; zeros if FROM is NULL. */
VEC_INLINE void copy(float *to, size_t stride, size_t row, size_t k, const float *from,
                     size_t count) {
#ifdef LOOP_HAS_AMX
    if (from != NULL)
        split_values(to, stride, row, k, from, count);
    for (size_t i = 0; i < count && from == NULL; i += LANES)
        split_half(to, stride, row, k + i, vec_set(0));
#else
    to += row * stride + k;
    for (size_t i = 0; i < count; i += LANES)
        vec_store(to, i, from != NULL ? vec_load(from, i, ELEM_F32) : vec_set(0), ELEM_F32);
#endif
}

/* Copies values [k, k + depth) of each of a block's rows, followed by zeros. A piece may begin in
 * the middle of a tap's channels and span several taps. On AMX the depth is padded with zeros to
 * whole steps, as the packed weights are. */
static void gather(const struct conv_rows *c, const struct places *at, size_t count, size_t k,
                   size_t depth, float *to) {
    size_t done = 0, stride = stride_of(depth);
    for (size_t tap = k / c->in, first = k % c->in; done < depth; tap++, first = 0) {
        size_t some = c->in - first < depth - done ? c->in - first : depth - done;
        for (size_t i = 0; i < count; i++) {
            const float *pixel = pixel_of(c, at, i, &c->tap[tap]);
            copy(to, stride, i, done, pixel != NULL ? pixel + first : NULL, some);
        }
        done += some;
    }
    for (size_t i = 0; i < count && done < gemm_steps(depth); i++)
        copy(to, stride, i, done, NULL, gemm_steps(depth) - done);
}

/* Returns true if x's rows already form the matrix: positions are consecutive pixels. */
static bool is_matrix(const struct conv_rows *c) {
    return c->taps == 1 && c->step == 1 && c->tap[0].y == 0 && c->tap[0].x == 0 &&
           c->grid_height == c->height && c->grid_width == c->width;
}

/* Memory to prefetch meanwhile: a panel's first tile prefetches the next panel of weights, the
 * other tiles what the next block reads; on AMX each tile a share of both. */
struct ahead {
    const char *at, *end; /* input of the next block */
    size_t bytes;         /* per tile */
};

/* Only where positions are consecutive pixels: the next block's input then follows this one's. */
static struct ahead ahead_of(const struct conv_rows *c, size_t end, size_t count, size_t panels) {
    size_t following = conv_rows_positions(c) - end, tiles = (count + GEMM_ROWS - 1) / GEMM_ROWS;
    struct ahead ahead = {0};
    if (!is_matrix(c) || following == 0 || tiles == 1 || panels == 0)
        return ahead;
    size_t bytes = (following < count ? following : count) * c->in * sizeof(float);
    ahead.at = (const char *)(c->x + end * c->in);
    ahead.end = ahead.at + bytes;
    ahead.bytes = bytes / ((tiles - 1) * panels) / GEMM_LINE * GEMM_LINE + GEMM_LINE;
    return ahead;
}

/* Sets the prefetches of tile TILE of COUNT of a panel. */
VEC_INLINE void ask(const struct conv_rows *c, struct ahead *ahead, size_t tile, size_t count,
                    struct gemm_tile *to) {
    const char *panel =
        (const char *)(to->b + gemm_floats(GEMM_COLUMNS * gemm_steps(c->taps * c->in)));
    size_t bytes = gemm_floats(to->k * GEMM_COLUMNS) * sizeof(float);
    if (GEMM_STEP > 1) {
        size_t share = (bytes / GEMM_LINE + count - 1) / count;
        to->soon[0] = to->soon[1] = panel + tile * share * GEMM_LINE;
        to->soon_lines = share;
        if (ahead->at < ahead->end) {
            to->soon[1] = ahead->at;
            ahead->at += share * GEMM_LINE;
        }
    } else if (tile == 0) {
        gemm_ask(to, panel, bytes);
    } else if (ahead->at < ahead->end) {
        gemm_ask(to, ahead->at, ahead->bytes);
        ahead->at += ahead->bytes;
    }
}

/* A piece of k: the block's rows for it, and what follows the sums. */
struct piece {
    const float *a;
    size_t stride, k, depth;
    bool complete;
};

/* Computes the tiles of panel PANEL of outputs. */
static void multiply(const struct conv_rows *c, const struct places *at, size_t count,
                     const struct piece *piece, size_t panel, struct ahead *ahead,
                     struct gemm_queue *queue) {
    size_t first = panel * GEMM_COLUMNS, tiles = (count + GEMM_ROWS - 1) / GEMM_ROWS;
    const float *b =
        c->weights + gemm_floats(first * gemm_steps(c->taps * c->in) + piece->k * GEMM_COLUMNS);
    for (size_t i = 0; i < count; i += GEMM_ROWS) {
        struct gemm_slot *slot = gemm_next(queue);
        struct gemm_tile *tile = &slot->tile;
        tile->rows = count - i < GEMM_ROWS ? count - i : GEMM_ROWS;
        tile->a = piece->a + i * piece->stride;
        tile->stride = piece->stride;
        tile->b = b;
        tile->k = gemm_steps(piece->depth);
        tile->half = c->out - first < GEMM_COLUMNS;
        tile->add = piece->k > 0;
        tile->relu = piece->complete && c->relu;
        tile->bias = piece->complete && c->bias != NULL ? c->bias + first : NULL;
        tile->side = piece->complete && c->side != NULL ? slot->side : NULL;
        for (size_t row = 0; row < tile->rows; row++) {
            slot->c[row] = at->to[i + row] + first;
            slot->side[row] = tile->side != NULL ? at->side[i + row] + first : NULL;
        }
        ask(c, ahead, i / GEMM_ROWS, tiles, tile);
        LOOP(gemm_rows)(queue);
    }
}

/* A class of positions without taps: its part of a data gradient is 0. */
static void clear(const struct conv_rows *c, const struct places *at, size_t count) {
    for (size_t i = 0; i < count; i++)
        memset(at->to[i], 0, c->out * sizeof(float));
}

/* Computes panels [FIRST, LAST) of positions [BEGIN, END), at most BLOCK of them. */
void LOOP(conv_rows_run)(const struct conv_rows *c, size_t begin, size_t end, size_t first,
                         size_t last) {
    struct places at;
    struct gemm_queue queue;
    size_t count = end - begin, all = c->taps * c->in;
    find_places(c, begin, count, &at);
    if (all == 0)
        clear(c, &at, count);
    struct ahead ahead =
        ahead_of(c, end, count, (last - first) * ((all + GEMM_DEPTH - 1) / GEMM_DEPTH));
    /* Copy rows that map to few sets of the L1 cache, and rows with a last tile that would read
     * past the tensor; read all others directly. */
    bool direct = GEMM_STEP == 1 && is_matrix(c) && c->in <= GEMM_DEPTH &&
                  begin + (count + GEMM_ROWS - 1) / GEMM_ROWS * GEMM_ROWS <= conv_rows_positions(c);
    LOOP(gemm_begin)(&queue);
    for (size_t k = 0; k < all; k += GEMM_DEPTH) {
        size_t depth = all - k < GEMM_DEPTH ? all - k : GEMM_DEPTH;
        struct piece piece = {.a = direct ? c->x + begin * c->in : c->scratch,
                              .stride = direct ? c->in : stride_of(depth),
                              .k = k,
                              .depth = depth,
                              .complete = k + depth == all};
        if (!direct)
            gather(c, &at, count, k, depth, c->scratch);
        for (size_t panel = first; panel < last; panel++)
            multiply(c, &at, count, &piece, panel, &ahead, &queue);
    }
    LOOP(gemm_end)(&queue);
}
