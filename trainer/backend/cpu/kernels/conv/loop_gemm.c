/* Inner product kernel. 12 sums of 8 values (6 rows x 16 columns) fill AVX2's registers, 28 of 16
 * (14 x 32) those of AVX-512: a step over k is two loads of B and one broadcast per row, for two
 * products each. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"

enum { PARTS = 2 };

/* Adds the products of one k. */
VEC_INLINE void add_products(vecf sum[][PARTS], const float *a, const float *b, size_t count,
                             size_t row) {
    vecf b0 = vec_load(b, 0, ELEM_F32), b1 = vec_load(b, LANES, ELEM_F32);
#pragma GCC unroll 14
    for (size_t i = 0; i < count; i++) {
        vecf all = vec_set(a[i * row]);
        sum[i][0] += all * b0;
        sum[i][1] += all * b1;
    }
}

/* COUNT rows; elements are ROW floats apart between rows, and STEP within a row. */
VEC_INLINE void product(const struct gemm_tile *t, size_t count, size_t row, size_t step,
                        enum gemm_end end) {
    vecf sum[GEMM_ROWS][PARTS];
    const float *a = t->a, *b = t->b;
    float *const *c = t->c;
#pragma GCC unroll 14
    for (size_t i = 0; i < count; i++) {
        sum[i][0] = sum[i][1] = vec_set(0);
        if (end == GEMM_ANY && i >= t->rows)
            continue;
        gemm_prefetch_row(c[i], true);
        if (end == GEMM_ANY && t->side != NULL)
            gemm_prefetch_row(t->side[i], false);
    }
    size_t asked = t->soon_lines < t->k ? t->soon_lines : t->k, k = 0;
    for (; k < asked; k++, a += step, b += GEMM_COLUMNS) {
        __builtin_prefetch(t->soon[0] + k * GEMM_LINE, 0, 2);
        __builtin_prefetch(t->soon[1] + k * GEMM_LINE, 0, 2);
        add_products(sum, a, b, count, row);
    }
    for (; k < t->k; k++, a += step, b += GEMM_COLUMNS)
        add_products(sum, a, b, count, row);
#pragma GCC unroll 14
    for (size_t i = 0; i < count; i++) {
        if (end != GEMM_ANY) {
            float *to = c[i];
            gemm_put(to, 0, sum[i][0], end);
            gemm_put(to, 1, sum[i][1], end);
        } else if (i < t->rows) {
            gemm_finish(t, i, 0, sum[i][0]);
            if (!t->half)
                gemm_finish(t, i, 1, sum[i][1]);
        }
    }
}

VEC_INLINE void tile_of(const struct gemm_tile *t, size_t count, size_t row, size_t step) {
    switch (gemm_end_of(t, count)) {
    case GEMM_STORE:
        product(t, count, row, step, GEMM_STORE);
        break;
    case GEMM_ADD:
        product(t, count, row, step, GEMM_ADD);
        break;
    case GEMM_ANY:
        product(t, count, row, step, GEMM_ANY);
        break;
    }
}

/* One function body for each size that gemm_rows_read() returns. */
#define SIZES(row, step)                                                                           \
    switch (gemm_rows_read(tile->rows)) {                                                          \
    case 2:                                                                                        \
        tile_of(tile, 2, row, step);                                                               \
        break;                                                                                     \
    case 4:                                                                                        \
        tile_of(tile, 4, row, step);                                                               \
        break;                                                                                     \
    case 6:                                                                                        \
        tile_of(tile, 6, row, step);                                                               \
        break;                                                                                     \
        WIDER(row, step)                                                                           \
    }
#if defined(__AVX512F__)
#define WIDER(row, step)                                                                           \
    case 8:                                                                                        \
        tile_of(tile, 8, row, step);                                                               \
        break;                                                                                     \
    case 10:                                                                                       \
        tile_of(tile, 10, row, step);                                                              \
        break;                                                                                     \
    default:                                                                                       \
        tile_of(tile, GEMM_ROWS, row, step);
#else
#define WIDER(row, step)
#endif

/* Rows of A lie STRIDE apart: A as it is stored. */
void LOOP(gemm_rows)(struct gemm_queue *queue) {
    const struct gemm_tile *tile = &queue->slot.tile;
    SIZES(tile->stride, 1)
}

/* A transposed: neighbours in memory are rows. */
void LOOP(gemm_columns)(struct gemm_queue *queue) {
    const struct gemm_tile *tile = &queue->slot.tile;
    SIZES(1, tile->stride)
}

/* Only tiles have a state to set up and a queue to empty (loop_tiles.c). */
void LOOP(gemm_begin)(struct gemm_queue *queue) {
    (void)queue;
}

void LOOP(gemm_end)(struct gemm_queue *queue) {
    (void)queue;
}
