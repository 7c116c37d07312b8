/* Convolutions in f32 as products of matrices (loops.h, struct conv_rows). A block of positions has
 * its pixels' channels copied side by side, tap after tap, at most GEMM_DEPTH values of each at
 * once (im2col, of a piece that stays in the second cache), while all weights pass by. */
#include "cpu_loops/loop_gemm.h"

enum { BLOCK = GEMM_ROWS == 14 ? 8 * 14 : 16 * 6 };
/* From row to row of the copies: another set of the first cache each. */
enum { STRIDE = GEMM_DEPTH + 16 };

size_t LOOP(conv_rows_block)(void) {
    return BLOCK;
}

size_t LOOP(conv_rows_panel)(void) {
    return GEMM_COLUMNS;
}

size_t LOOP(conv_rows_scratch)(const struct conv_rows *c) {
    (void)c;
    return (size_t)BLOCK * STRIDE * sizeof(float);
}

/* Where a block's positions read and write. */
struct places {
    const float *image[BLOCK];
    ptrdiff_t y[BLOCK], x[BLOCK]; /* of tap (0, 0) */
    float *to[BLOCK];
    const float *side[BLOCK];
};

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

/* The channels of one tap, or NULL outside of the picture. */
VEC_INLINE const float *pixel_of(const struct conv_rows *c, const struct places *at, size_t i,
                                 const struct conv_tap *tap) {
    ptrdiff_t y = at->y[i] + tap->y, x = at->x[i] + tap->x;
    if (y < 0 || x < 0 || y >= (ptrdiff_t)c->height || x >= (ptrdiff_t)c->width)
        return NULL;
    return at->image[i] + ((size_t)y * c->width + (size_t)x) * c->in;
}

VEC_INLINE void copy(float *to, const float *from, size_t count) {
    for (size_t i = 0; i < count; i += LANES)
        vec_store(to, i, from != NULL ? vec_load(from, i, ELEM_F32) : vec_set(0), ELEM_F32);
}

/* Values [k, k + depth) of each of a block's rows. */
static void gather(const struct conv_rows *c, const struct places *at, size_t count, size_t k,
                   size_t depth, float *to) {
    size_t left = depth;
    for (size_t tap = k / c->in, first = k % c->in; left > 0; tap++, first = 0) {
        size_t some = c->in - first < left ? c->in - first : left;
        for (size_t i = 0; i < count; i++) {
            const float *pixel = pixel_of(c, at, i, &c->tap[tap]);
            copy(to + i * STRIDE, pixel != NULL ? pixel + first : NULL, some);
        }
        to += some;
        left -= some;
    }
}

/* Whether x's rows are the matrix as they lie: positions follow one another as pixels do. */
static bool is_matrix(const struct conv_rows *c) {
    return c->taps == 1 && c->step == 1 && c->tap[0].y == 0 && c->tap[0].x == 0 &&
           c->grid_height == c->height && c->grid_width == c->width;
}

/* What is asked for meanwhile: by a panel's first tile the panel of weights behind it, by the
 * others what the next block reads. */
struct ahead {
    const char *at, *end; /* of the next block */
    size_t bytes;         /* for one tile */
};

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

VEC_INLINE void ask(const struct conv_rows *c, struct ahead *ahead, bool first,
                    struct gemm_tile *tile) {
    if (first) {
        gemm_ask(tile, tile->b + GEMM_COLUMNS * c->taps * c->in,
                 tile->k * GEMM_COLUMNS * sizeof(float));
    } else if (ahead->at < ahead->end) {
        gemm_ask(tile, ahead->at, ahead->bytes);
        ahead->at += ahead->bytes;
    }
}

/* The tiles of one panel of outputs. */
static void panel(const struct conv_rows *c, const struct places *at, size_t count, size_t first,
                  const struct gemm_tile *all, struct ahead *ahead) {
    for (size_t i = 0; i < count; i += GEMM_ROWS) {
        float *to[GEMM_ROWS];
        const float *side[GEMM_ROWS];
        struct gemm_tile tile = *all;
        tile.rows = count - i < GEMM_ROWS ? count - i : GEMM_ROWS;
        tile.a += i * tile.stride;
        for (size_t row = 0; row < tile.rows; row++) {
            to[row] = at->to[i + row] + first;
            side[row] = tile.side != NULL ? at->side[i + row] + first : NULL;
        }
        tile.c = to;
        tile.side = tile.side != NULL ? side : NULL;
        ask(c, ahead, i == 0, &tile);
        LOOP(gemm_rows)(&tile);
    }
}

static void clear(const struct conv_rows *c, const struct places *at, size_t count) {
    for (size_t i = 0; i < count; i++)
        memset(at->to[i], 0, c->out * sizeof(float));
}

void LOOP(conv_rows_run)(const struct conv_rows *c, size_t begin, size_t end, size_t first,
                         size_t last) {
    struct places at;
    size_t count = end - begin, all = c->taps * c->in;
    find_places(c, begin, count, &at);
    if (all == 0)
        clear(c, &at, count);
    struct ahead ahead =
        ahead_of(c, end, count, (last - first) * ((all + GEMM_DEPTH - 1) / GEMM_DEPTH));
    /* Rows that lie in few sets of the first cache are copied, and those whose last tile would read
     * behind the tensor. */
    bool direct = is_matrix(c) && c->in <= GEMM_DEPTH &&
                  begin + (count + GEMM_ROWS - 1) / GEMM_ROWS * GEMM_ROWS <= conv_rows_positions(c);
    for (size_t k = 0; k < all; k += GEMM_DEPTH) {
        size_t depth = all - k < GEMM_DEPTH ? all - k : GEMM_DEPTH;
        bool complete = k + depth == all;
        struct gemm_tile tile = {.a = direct ? c->x + begin * c->in : c->scratch,
                                 .stride = direct ? c->in : STRIDE,
                                 .k = depth,
                                 .add = k > 0,
                                 .relu = complete && c->relu};
        if (complete && c->side != NULL)
            tile.side = at.side;
        if (!direct)
            gather(c, &at, count, k, depth, c->scratch);
        for (size_t j = first; j < last; j++) {
            size_t out = j * GEMM_COLUMNS;
            tile.half = c->out - out < GEMM_COLUMNS;
            tile.b = c->weights + out * all + k * GEMM_COLUMNS;
            tile.bias = complete && c->bias != NULL ? c->bias + out : NULL;
            panel(c, &at, count, out, &tile, &ahead);
        }
    }
}
