/* The product of matrices at one place of winograd4.h, tile by tile of the kernel: the depth is cut
 * so that a panel of b stays in the first cache while all rows pass by. */
#include "cpu_loops/loop_gemm.h"

static void few_rows(const struct winograd4_product *p, size_t row, size_t k, size_t column,
                     const float *b, size_t depth) {
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
    if (p->by_columns) {
        tile.a = p->a + k * p->a_row + row;
        LOOP(gemm_columns)(&tile);
    } else {
        tile.a = p->a + row * p->a_row + k;
        LOOP(gemm_rows)(&tile);
    }
}

void LOOP(winograd4_product)(const struct winograd4_product *p) {
    for (size_t k = 0; k < p->depth; k += p->cut) {
        size_t depth = p->depth - k < p->cut ? p->depth - k : p->cut;
        for (size_t column = 0; column < p->columns; column += GEMM_COLUMNS) {
            const float *b = p->b + column / GEMM_COLUMNS * p->b_panel + k * GEMM_COLUMNS;
            for (size_t row = 0; row < p->rows; row += GEMM_ROWS)
                few_rows(p, row, k, column, b, depth);
        }
    }
}

size_t LOOP(winograd4_panel)(void) {
    return GEMM_COLUMNS;
}
