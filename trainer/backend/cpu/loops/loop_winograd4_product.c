/* The product of matrices at one place of winograd4.h, tile by tile of the kernel: the depth is cut
 * so that a panel of b stays in the first cache while all rows pass by. */
#include "cpu_loops/loop_gemm.h"

/* What is asked for: by a panel's first tile the panel behind it, by the others a of the next call,
 * whose pieces lie behind each other or, where a has columns, one at each k. */
struct ahead {
    const float *panel, *piece, *end;
    size_t floats, step; /* of a piece, and to the next */
};

static struct ahead ahead_of(const struct winograd4_product *p) {
    struct ahead ahead = {.piece = p->next_a, .end = p->next_a, .step = p->a_row};
    if (p->next_a != NULL)
        ahead.end += (p->by_columns ? p->depth : p->rows) * p->a_row;
    ahead.floats = p->by_columns ? p->rows : p->a_row;
    return ahead;
}

static void ask(struct ahead *ahead, bool first, struct gemm_tile *tile) {
    if (first && ahead->panel != NULL) {
        gemm_ask(tile, ahead->panel, tile->k * GEMM_COLUMNS * sizeof(float));
    } else if (!first && ahead->piece < ahead->end) {
        tile->soon[0] = (const char *)ahead->piece;
        tile->soon[1] = (const char *)(ahead->piece + ahead->step);
        tile->soon_lines = (ahead->floats * sizeof(float) + GEMM_LINE - 1) / GEMM_LINE;
        ahead->piece += 2 * ahead->step;
    }
}

static void few_rows(const struct winograd4_product *p, size_t row, size_t k, size_t column,
                     const float *b, size_t depth, struct ahead *ahead) {
    float *c[GEMM_ROWS];
    size_t rows = p->rows - row < GEMM_ROWS ? p->rows - row : GEMM_ROWS;
    for (size_t i = 0; i < rows; i++)
        c[i] = p->c + (row + i) * p->c_row + column;
    struct gemm_tile tile = {.stride = p->a_row,
                             .b = b,
                             .k = depth,
                             .c = c,
                             .rows = rows,
                             .half = p->columns - column < GEMM_COLUMNS,
                             .add = p->add || k > 0};
    ask(ahead, row == 0, &tile);
    if (p->by_columns) {
        tile.a = p->a + k * p->a_row + row;
        LOOP(gemm_columns)(&tile);
    } else {
        tile.a = p->a + row * p->a_row + k;
        LOOP(gemm_rows)(&tile);
    }
}

void LOOP(winograd4_product)(const struct winograd4_product *p) {
    struct ahead ahead = ahead_of(p);
    for (size_t k = 0, depth; k < p->depth; k += depth) {
        depth = p->depth - k < p->cut ? p->depth - k : p->cut;
        for (size_t column = 0; column < p->columns; column += GEMM_COLUMNS) {
            const float *b = p->b + column / GEMM_COLUMNS * p->b_panel + k * GEMM_COLUMNS;
            ahead.panel = column + GEMM_COLUMNS < p->columns ? b + p->b_panel
                          : k + depth < p->depth             ? p->b + (k + depth) * GEMM_COLUMNS
                                                             : p->next_b;
            for (size_t row = 0; row < p->rows; row += GEMM_ROWS)
                few_rows(p, row, k, column, b, depth, &ahead);
        }
    }
}

size_t LOOP(winograd4_panel)(void) {
    return GEMM_COLUMNS;
}
