/* Matrix product at one place of winograd4.h, in tiles of the kernel: the depth is cut so that a
 * panel of b stays in the L1 cache while all rows are multiplied with it. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"

/* A call is one of 36 products for a block of tiles. Forward, a is transformed inputs and b packed
 * weights; for a weight gradient both are transformed pictures, with the tiles as depth
 * (`by_columns`). The loops go over pieces of the depth, panels of columns, and tiles of rows, so a
 * panel is used by all rows while it is near.
 *
 * On AMX both sides must be split into parts first (loop_split.h): a once per piece of the depth,
 * and b, if it is not packed weights, once per panel. Elsewhere they are read where they are, and
 * the scratch is empty. */

/* Rows, rounded up to whole tiles. */
static size_t gemm_rows_up(size_t rows) {
    return (rows + GEMM_ROWS - 1) / GEMM_ROWS * GEMM_ROWS;
}

/* Memory to prefetch: a panel's first tile prefetches the next panel, the other tiles a of the next
 * call, with pieces that are consecutive or, if a is stored by columns, one at each k. On AMX each
 * tile prefetches its share of the panel. */
struct ahead {
    const float *panel, *piece, *end;
    size_t floats, step; /* size of a piece, and distance to the next */
};

/* Without a following call nothing of a is prefetched. */
static struct ahead ahead_of(const struct winograd4_product *p) {
    struct ahead ahead = {.piece = p->next_a, .end = p->next_a, .step = p->a_row};
    if (p->next_a != NULL)
        ahead.end += (p->by_columns ? p->depth : p->rows) * p->a_row;
    ahead.floats = p->by_columns ? p->rows : p->a_row;
    return ahead;
}

/* Sets the prefetches of tile TILE of COUNT of a panel. Two pieces per tile, one for each pointer
 * of a tile's prefetches. Nothing is asked for after the last panel. */
static void ask(struct ahead *ahead, size_t tile, size_t count, struct gemm_tile *to) {
    size_t bytes = gemm_floats(to->k * GEMM_COLUMNS) * sizeof(float);
    if (GEMM_STEP > 1 && ahead->panel != NULL) {
        size_t share = (bytes / GEMM_LINE / 2 + count - 1) / count;
        to->soon[0] = (const char *)ahead->panel + tile * 2 * share * GEMM_LINE;
        to->soon[1] = to->soon[0] + share * GEMM_LINE;
        to->soon_lines = share;
    } else if (tile == 0 && ahead->panel != NULL) {
        gemm_ask(to, ahead->panel, bytes);
    } else if (tile > 0 && ahead->piece < ahead->end) {
        to->soon[0] = (const char *)ahead->piece;
        to->soon[1] = (const char *)(ahead->piece + ahead->step);
        to->soon_lines = (ahead->floats * sizeof(float) + GEMM_LINE - 1) / GEMM_LINE;
        ahead->piece += 2 * ahead->step;
    }
}

/* Both sides of a cut of the depth, as the tiles of the kernel read them. */
struct sides {
    size_t k, depth;
    float *a, *b; /* split ones */
    struct gemm_queue *queue;
};

#ifdef LOOP_HAS_AMX

/* Floats between the rows of a in the split layout. The depth is padded to whole steps. */
static size_t stride_of(const struct sides *s) {
    return gemm_floats(gemm_steps(s->depth));
}

/* The depth is padded with zeros to whole steps, as on the other side (loop_gemm.h). */
static void split_a(const struct winograd4_product *p, const struct sides *s) {
    size_t stride = stride_of(s);
    if (p->by_columns) {
        for (size_t k = 0; k < s->depth; k += SPLIT_STEP)
            for (size_t row = 0; row < p->rows; row += SPLIT_SIDE)
                split_columns(s->a, stride, row, k, p->a + (s->k + k) * p->a_row + row, p->a_row,
                              s->depth - k);
        return;
    }
    for (size_t row = 0; row < p->rows; row++) {
        split_values(s->a, stride, row, 0, p->a + row * p->a_row + s->k, s->depth);
        if (s->depth < gemm_steps(s->depth))
            split_half(s->a, stride, row, s->depth, vec_set(0));
    }
}

static const float *panel_of(const struct winograd4_product *p, const struct sides *s,
                             size_t column) {
    const float *b = p->b + column / GEMM_COLUMNS * p->b_panel;
    if (!p->by_columns)
        return b + gemm_floats(s->k * GEMM_COLUMNS);
    split_panel(s->b, b + s->k * GEMM_COLUMNS, s->depth);
    return s->b;
}

VEC_INLINE void multiply(const struct winograd4_product *p, const struct sides *s, size_t row,
                         struct gemm_tile *tile) {
    (void)p;
    tile->stride = stride_of(s);
    tile->a = s->a + row * tile->stride;
    LOOP(gemm_rows)(s->queue);
}

#else

static void split_a(const struct winograd4_product *p, const struct sides *s) {
    (void)p;
    (void)s;
}

static const float *panel_of(const struct winograd4_product *p, const struct sides *s,
                             size_t column) {
    return p->b + column / GEMM_COLUMNS * p->b_panel + s->k * GEMM_COLUMNS;
}

VEC_INLINE void multiply(const struct winograd4_product *p, const struct sides *s, size_t row,
                         struct gemm_tile *tile) {
    tile->stride = p->a_row;
    if (p->by_columns) {
        tile->a = p->a + s->k * p->a_row + row;
        LOOP(gemm_columns)(s->queue);
    } else {
        tile->a = p->a + row * p->a_row + s->k;
        LOOP(gemm_rows)(s->queue);
    }
}

#endif

/* One tile of results, at most GEMM_ROWS rows by GEMM_COLUMNS. It overwrites C in the first piece
 * of the depth, unless the caller adds, and adds to it in the others. C may have any distance
 * between rows. */
static void few_rows(const struct winograd4_product *p, const struct sides *s, size_t row,
                     size_t column, const float *b, struct ahead *ahead) {
    struct gemm_slot *slot = gemm_next(s->queue);
    struct gemm_tile *tile = &slot->tile;
    tile->rows = p->rows - row < GEMM_ROWS ? p->rows - row : GEMM_ROWS;
    for (size_t i = 0; i < tile->rows; i++)
        slot->c[i] = p->c + (row + i) * p->c_row + column;
    tile->b = b;
    tile->k = gemm_steps(s->depth);
    tile->half = p->columns - column < GEMM_COLUMNS;
    tile->add = p->add || s->k > 0;
    ask(ahead, row / GEMM_ROWS, (p->rows + GEMM_ROWS - 1) / GEMM_ROWS, tile);
    multiply(p, s, row, tile);
}

/* What a panel's tiles prefetch: the next panel; if panels are split, what is split next. */
static const float *behind(const struct winograd4_product *p, const struct sides *s,
                           size_t column) {
    size_t each = GEMM_STEP > 1 && p->by_columns ? GEMM_COLUMNS : gemm_floats(GEMM_COLUMNS);
    const float *b = p->b + column / GEMM_COLUMNS * p->b_panel;
    return column + GEMM_COLUMNS < p->columns ? b + p->b_panel + s->k * each
           : s->k + s->depth < p->depth       ? p->b + (s->k + s->depth) * each
                                              : p->next_b;
}

/* A row's result depends on `cut`, but not on the other rows of the call (loop_gemm.h). */
void LOOP(winograd4_product)(const struct winograd4_product *p) {
    struct ahead ahead = ahead_of(p);
    struct gemm_queue queue;
    struct sides s = {.a = p->scratch, .queue = &queue};
    s.b = s.a + gemm_floats(gemm_steps(p->cut)) * gemm_rows_up(p->rows);
    LOOP(gemm_begin)(&queue);
    for (; s.k < p->depth; s.k += s.depth) {
        s.depth = p->depth - s.k < p->cut ? p->depth - s.k : p->cut;
        split_a(p, &s);
        for (size_t column = 0; column < p->columns; column += GEMM_COLUMNS) {
            const float *b = panel_of(p, &s, column);
            ahead.panel = behind(p, &s, column);
            for (size_t row = 0; row < p->rows; row += GEMM_ROWS)
                few_rows(p, &s, row, column, b, &ahead);
        }
    }
    LOOP(gemm_end)(&queue);
}

/* Split rows of one piece of the depth, and one split panel. */
size_t LOOP(winograd4_product_scratch)(size_t rows, size_t cut) {
    if (GEMM_STEP == 1)
        return 0;
    return gemm_floats(gemm_steps(cut)) * (gemm_rows_up(rows) + GEMM_COLUMNS) * sizeof(float);
}

size_t LOOP(winograd4_panel)(void) {
    return GEMM_COLUMNS;
}
