/* f32 products on the tile registers of AMX, which only multiply bf16. An f32 is the exact sum of
 * three bf16, x = x0 + x1 + x2: each is the remainder of the ones before it, rounded to 8 bits. Of
 * the nine products of two such numbers six are computed,
 *     x0 y0 + (x0 y1 + x1 y0) + (x0 y2 + x1 y1 + x2 y0),
 * each of which is exact in f32; sums are in f32. The omitted products are below 2^-23 of x y, no
 * more than f32's own rounding (Henry, Tang and Heinecke 2019, arXiv:1904.06376). Numbers below
 * 1e-33 lose their last bits, because bf16 is 0 below 1e-38. Infinity becomes NaN, and so does a
 * number above 3.39e38.
 *
 * For functions compiled with AMX_BF16. Layouts are those of loop_gemm.h, all aligned to 64 bytes:
 *     A   rows, in groups of 16:  [rows / 16][k / 32][part][16 rows][32 values]
 *     B   a panel of 32 columns:  [k / 32][part][column / 16][16 pairs of k][16 columns][2] */
#ifndef TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_SPLIT_H
#define TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_SPLIT_H

#include "trainer/backend/cpu/kernels/vec.h"

/* A register: 16 rows of 64 bytes. */
enum { SPLIT_PARTS = 3, SPLIT_STEP = 32, SPLIT_SIDE = 16, SPLIT_TILE = 1024, SPLIT_LINE = 64 };
enum { SPLIT_ROWS_STEP = SPLIT_PARTS * SPLIT_TILE, SPLIT_PANEL_STEP = 2 * SPLIT_ROWS_STEP };

/* Each word is a part followed by 16 zero bits, as in an f32. Rounded to nearest, ties away from
 * 0. */
VEC_INLINE void split_value(vecf value, vecu ret[SPLIT_PARTS]) {
#pragma GCC unroll 2
    for (int part = 0; part < SPLIT_PARTS - 1; part++) {
        ret[part] = ((vecu)value + 0x8000) & 0xffff0000;
        value -= (vecf)ret[part];
    }
    ret[SPLIT_PARTS - 1] = (vecu)value;
}

/* Returns the address of value K of row ROW in its first part; rows are STRIDE floats apart within
 * a group of 16. */
VEC_INLINE char *split_row(float *a, size_t stride, size_t row, size_t k) {
    return (char *)(a + row / SPLIT_SIDE * SPLIT_SIDE * stride) + k / SPLIT_STEP * SPLIT_ROWS_STEP +
           row % SPLIT_SIDE * SPLIT_LINE + k % SPLIT_STEP * sizeof(uint16_t);
}

/* Values [k, k + 16) of a row. */
VEC_INLINE void split_half(float *a, size_t stride, size_t row, size_t k, vecf value) {
    char *to = split_row(a, stride, row, k);
    vecu parts[SPLIT_PARTS];
    split_value(value, parts);
#pragma GCC unroll 3
    for (int part = 0; part < SPLIT_PARTS; part++)
        _mm256_store_si256((void *)(to + part * SPLIT_TILE),
                           _mm512_cvtepi32_epi16((__m512i)(parts[part] >> 16)));
}

/* Values [k, k + 32). */
VEC_INLINE void split_whole(float *a, size_t stride, size_t row, size_t k, vecf low, vecf high) {
    static const uint16_t odd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                     23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                     45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i upper = _mm512_loadu_si512(odd);
    char *to = split_row(a, stride, row, k);
    vecu first[SPLIT_PARTS], second[SPLIT_PARTS];
    split_value(low, first);
    split_value(high, second);
#pragma GCC unroll 3
    for (int part = 0; part < SPLIT_PARTS; part++)
        _mm512_store_si512(
            to + part * SPLIT_TILE,
            _mm512_permutex2var_epi16((__m512i)first[part], upper, (__m512i)second[part]));
}

/* COUNT values of a row from K on; COUNT and K are multiples of 16. */
VEC_INLINE void split_values(float *a, size_t stride, size_t row, size_t k, const float *from,
                             size_t count) {
    size_t i = 0;
    if (k % SPLIT_STEP != 0 && count > 0) {
        split_half(a, stride, row, k, vec_load(from, 0, ELEM_F32));
        i = SPLIT_SIDE;
    }
    for (; i + SPLIT_STEP <= count; i += SPLIT_STEP)
        split_whole(a, stride, row, k + i, vec_load(from, i, ELEM_F32),
                    vec_load(from, i + SPLIT_SIDE, ELEM_F32));
    if (i < count)
        split_half(a, stride, row, k + i, vec_load(from, i, ELEM_F32));
}

/* A line of a panel: values K (even) and K + 1 of 16 columns, for the three parts. */
VEC_INLINE void split_pair(vecf even, vecf odd, vecu ret[SPLIT_PARTS]) {
    vecu first[SPLIT_PARTS], second[SPLIT_PARTS];
    split_value(even, first);
    split_value(odd, second);
#pragma GCC unroll 3
    for (int part = 0; part < SPLIT_PARTS; part++)
        ret[part] = (first[part] >> 16) | (second[part] & 0xffff0000);
}

/* Returns the address of part 0 of value K's line of columns [column, column + 16) in a panel. */
VEC_INLINE char *split_line(float *panel, size_t k, size_t column) {
    return (char *)panel + k / SPLIT_STEP * SPLIT_PANEL_STEP + column / SPLIT_SIDE * SPLIT_TILE +
           k % SPLIT_STEP / 2 * SPLIT_LINE;
}

enum { SPLIT_PANEL_PART = 2 * SPLIT_TILE };

/* From [k][32] in f32, followed by zeros up to a multiple of SPLIT_STEP. */
VEC_INLINE void split_panel(float *panel, const float *from, size_t k) {
    enum { ROW = 2 * SPLIT_SIDE };
    for (size_t i = 0; i < (k + SPLIT_STEP - 1) / SPLIT_STEP * SPLIT_STEP; i += 2)
        for (size_t column = 0; column < ROW; column += SPLIT_SIDE) {
            vecu parts[SPLIT_PARTS];
            vecf even = i < k ? vec_load(from + i * ROW, column, ELEM_F32) : vec_set(0);
            vecf odd = i + 1 < k ? vec_load(from + (i + 1) * ROW, column, ELEM_F32) : vec_set(0);
            char *to = split_line(panel, i, column);
            split_pair(even, odd, parts);
#pragma GCC unroll 3
            for (int part = 0; part < SPLIT_PARTS; part++)
                _mm512_store_si512(to + part * SPLIT_PANEL_PART, (__m512i)parts[part]);
        }
}

/* Rows [row, row + 16) and k [k, k + 32) of A from [k][row] in f32; only COUNT of k exist, the
 * others are 0. Successive k are FROM_ROW floats apart. */
VEC_INLINE void split_columns(float *a, size_t stride, size_t row, size_t k, const float *from,
                              size_t from_row, size_t count) {
    vecf halves[2][SPLIT_SIDE];
    for (size_t half = 0; half < 2; half++) {
        vecf *rows = halves[half];
#pragma GCC unroll 16
        for (size_t i = 0; i < SPLIT_SIDE; i++)
            rows[i] = half * SPLIT_SIDE + i < count
                          ? vec_load(from + (half * SPLIT_SIDE + i) * from_row, 0, ELEM_F32)
                          : vec_set(0);
        vec_transpose(rows);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < SPLIT_SIDE; i++)
        split_whole(a, stride, row + i, k, halves[0][i], halves[1][i]);
}

#endif
