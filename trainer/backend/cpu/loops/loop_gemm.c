/* 12 sums of 8 (6 rows x 16 columns) fill AVX2's registers, 28 of 16 (14 x 32) those of AVX-512:
 * a step over k is two loads of B and a broadcast a row, for two products each. */
#include "cpu_loops/loop_gemm.h"

enum { PARTS = 2 };

/* What is done with sums that are complete; the tests of ANY would cost a short tile a fifth of its
 * time. */
enum end { END_STORE, END_ADD, END_ANY };

VEC_INLINE enum end end_of(const struct gemm_tile *t, size_t count) {
    if (t->rows != count || t->half || t->bias != NULL || t->side != NULL || t->relu)
        return END_ANY;
    return t->add ? END_ADD : END_STORE;
}

/* What becomes of a row's sums. */
VEC_INLINE void finish(const struct gemm_tile *t, size_t row, size_t part, vecf sum) {
    float *c = t->c[row] + part * LANES;
    if (t->add)
        sum += vec_load(c, 0, ELEM_F32);
    if (t->bias != NULL)
        sum += vec_load(t->bias, part * LANES, ELEM_F32);
    if (t->side != NULL)
        sum += vec_load(t->side[row], part * LANES, ELEM_F32);
    vec_store(c, 0, t->relu ? vec_relu(sum) : sum, ELEM_F32);
}

/* All rows and columns, as they are or added. */
VEC_INLINE void put(float *c, size_t part, vecf sum, enum end end) {
    if (end == END_ADD)
        sum += vec_load(c, part * LANES, ELEM_F32);
    vec_store(c, part * LANES, sum, ELEM_F32);
}

/* A row of C, or of what is added to it, is wanted at the end. */
VEC_INLINE void prefetch_row(const float *row, bool writes) {
    for (size_t at = 0; at < GEMM_COLUMNS; at += GEMM_LINE / sizeof(float))
        if (writes)
            __builtin_prefetch(row + at, 1);
        else
            __builtin_prefetch(row + at, 0);
}

/* The products of one k. */
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

/* COUNT rows; their elements lie ROW floats from one another, and those of a row STEP. */
VEC_INLINE void product(const struct gemm_tile *t, size_t count, size_t row, size_t step,
                        enum end end) {
    vecf sum[GEMM_ROWS][PARTS];
    const float *a = t->a, *b = t->b;
    float *const *c = t->c;
#pragma GCC unroll 14
    for (size_t i = 0; i < count; i++) {
        sum[i][0] = sum[i][1] = vec_set(0);
        if (end == END_ANY && i >= t->rows)
            continue;
        prefetch_row(c[i], true);
        if (end == END_ANY && t->side != NULL)
            prefetch_row(t->side[i], false);
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
        if (end != END_ANY) {
            float *to = c[i];
            put(to, 0, sum[i][0], end);
            put(to, 1, sum[i][1], end);
        } else if (i < t->rows) {
            finish(t, i, 0, sum[i][0]);
            if (!t->half)
                finish(t, i, 1, sum[i][1]);
        }
    }
}

VEC_INLINE void tile_of(const struct gemm_tile *t, size_t count, size_t row, size_t step) {
    switch (end_of(t, count)) {
    case END_STORE:
        product(t, count, row, step, END_STORE);
        break;
    case END_ADD:
        product(t, count, row, step, END_ADD);
        break;
    case END_ANY:
        product(t, count, row, step, END_ANY);
        break;
    }
}

/* One body for each size that gemm_rows_read() knows. */
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

void LOOP(gemm_rows)(const struct gemm_tile *tile) {
    SIZES(tile->stride, 1)
}

void LOOP(gemm_columns)(const struct gemm_tile *tile) {
    SIZES(1, tile->stride)
}
