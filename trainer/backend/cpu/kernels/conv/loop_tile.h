/* Inner product of the own bf16 convolutions: up to 7 rows of inputs times 64 outputs, kept in
 * registers over all inputs. For functions compiled with AVX512_BF16. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_TILE_H
#define TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_TILE_H

#include "trainer/backend/cpu/kernels/vec.h"

enum { TILE_ROWS = 7, TILE_OUTS = 64, TILE_GROUP = TILE_OUTS / 16, TILE_LINE = 64 };

/* Memory to prefetch meanwhile: two lines at each pair of inputs. */
struct tile_soon {
    const char *at;
    size_t step; /* 0: nothing */
};

struct tile {
    __m512 sum[TILE_ROWS][TILE_GROUP];
};

VEC_INLINE void tile_clear(struct tile *tile, size_t count) {
#pragma GCC unroll 7
    for (size_t i = 0; i < count; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < TILE_GROUP; j++)
            tile->sum[i][j] = _mm512_setzero_ps();
}

/* Adds COUNT rows of PAIRS pairs of inputs, ROW bytes apart; each pair's weights are four lines.
 * COUNT and ASKS are compile-time constants. */
VEC_INLINE void tile_products(struct tile *tile, const char *rows, size_t row, const char *weights,
                              size_t pairs, size_t count, bool asks, struct tile_soon soon) {
    for (size_t k = 0; k < pairs; k++) {
        __m512bh line[TILE_GROUP];
        if (asks) {
            _mm_prefetch(soon.at, _MM_HINT_T1);
            _mm_prefetch(soon.at + TILE_LINE, _MM_HINT_T1);
            soon.at += soon.step;
        }
#pragma GCC unroll 4
        for (size_t j = 0; j < TILE_GROUP; j++)
            line[j] = (__m512bh)_mm512_load_si512(weights + (k * TILE_GROUP + j) * TILE_LINE);
#pragma GCC unroll 7
        for (size_t i = 0; i < count; i++) {
            int32_t word;
            memcpy(&word, rows + i * row + k * sizeof word, sizeof word);
            __m512bh all = (__m512bh)_mm512_set1_epi32(word);
#pragma GCC unroll 4
            for (size_t j = 0; j < TILE_GROUP; j++)
                tile->sum[i][j] = _mm512_dpbf16_ps(tile->sum[i][j], all, line[j]);
        }
    }
}

/* Calls BODY(count) with a constant count, 4 to 7; for fewer rows BODY(1) for each row. */
#define TILE_COUNTS(count, body, each)                                                             \
    switch (count) {                                                                               \
    case 7:                                                                                        \
        body(7);                                                                                   \
        break;                                                                                     \
    case 6:                                                                                        \
        body(6);                                                                                   \
        break;                                                                                     \
    case 5:                                                                                        \
        body(5);                                                                                   \
        break;                                                                                     \
    case 4:                                                                                        \
        body(4);                                                                                   \
        break;                                                                                     \
    default:                                                                                       \
        for (size_t i = 0; i < (count); i++)                                                       \
            each(i);                                                                               \
    }

#endif
