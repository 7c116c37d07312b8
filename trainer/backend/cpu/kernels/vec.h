/* Vector register of floats, as wide as the instruction set allows. The width is that for which the
 * file is compiled; loads and stores convert between it and rows of f32 or bf16 in memory. For
 * loop_*.c only.
 *
 * Arithmetic uses the compiler's vector extension (a * b + c on vecf). ELEM arguments are constants
 * at every call, so that one body serves both types. bf16 rounds to nearest, ties to even; NaN
 * stays NaN. The first N lanes of a partial load come from memory, the others are 0. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_VEC_H
#define TRAINER_BACKEND_CPU_KERNELS_VEC_H

#include "trainer/backend/cpu/kernels/loops.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif

/* The width follows from the compiler's options: room.cmake compiles every loop_*.c once for each
 * instruction set, and loops_best() chooses among the results at run time. */
enum { LANES = VEC_BYTES / 4 };

/* Unaligned memory is reached through memcpy alone, which compilers turn into one instruction; a
 * cast pointer would promise alignment and types that do not hold. */
typedef float vecf __attribute__((vector_size(VEC_BYTES)));
typedef int32_t veci __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t vecu __attribute__((vector_size(VEC_BYTES)));
typedef uint16_t vech __attribute__((vector_size(VEC_BYTES / 2)));
typedef uint8_t vecb __attribute__((vector_size(VEC_BYTES / 4)));

/* Always inlined, because constant arguments such as ELEM must reach the body. */
#define VEC_INLINE static inline __attribute__((always_inline, unused))

/* Subtracting 0 broadcasts a scalar and keeps -0 and NaN, which adding 0 would not do for -0. */
VEC_INLINE vecf vec_set(float value) {
    return value - (vecf){0};
}

/* VALUE where MASK is all ones, else 0. */
VEC_INLINE vecf vec_keep(veci mask, vecf value) {
    return (vecf)((veci)value & mask);
}

/* YES where MASK is all ones, NO where it is 0; other masks mix bits. */
VEC_INLINE vecf vec_select(veci mask, vecf yes, vecf no) {
    return (vecf)(((veci)yes & mask) | ((veci)no & ~mask));
}

/* math/relu.h: where the gradient passes, and the function itself. NaN is preserved. */
VEC_INLINE veci vec_passes(vecf value) {
    return ~(value <= vec_set(0));
}

VEC_INLINE vecf vec_relu(vecf value) {
    return vec_keep(vec_passes(value), value);
}

/* Conversions between 32 and fewer bits per lane. Compilers split the generic conversion, so
 * single instructions are used explicitly. */
VEC_INLINE vecu vec_from_u16(vech value) {
#if defined(__AVX512F__)
    return (vecu)_mm512_cvtepu16_epi32((__m256i)value);
#elif defined(__AVX2__)
    return (vecu)_mm256_cvtepu16_epi32((__m128i)value);
#else
    return __builtin_convertvector(value, vecu);
#endif
}

/* Keeps the lower 16 bits of each lane. */
VEC_INLINE vech vec_to_u16(vecu value) {
#if defined(__AVX512F__)
    return (vech)_mm512_cvtepi32_epi16((__m512i)value);
#else
    return __builtin_convertvector(value, vech);
#endif
}

VEC_INLINE vecu vec_from_u8(vecb value) {
#if defined(__AVX512F__)
    return (vecu)_mm512_cvtepu8_epi32((__m128i)value);
#else
    return vec_from_u16(__builtin_convertvector(value, vech));
#endif
}

/* Keeps the lower 8 bits of each lane. */
VEC_INLINE vecb vec_to_u8(vecu value) {
#if defined(__AVX512F__)
    return (vecb)_mm512_cvtepi32_epi8((__m512i)value);
#else
    return __builtin_convertvector(vec_to_u16(value), vecb);
#endif
}

/* Without the instruction: adds half of the last place that stays, minus one if that place is even,
 * and cuts off the rest. A NaN could become infinite that way, so it is cut off and made quiet. */
VEC_INLINE vech vec_to_bf16(vecf value) {
#ifdef __AVX512BF16__
    return (vech)_mm512_cvtneps_pbh((__m512)value);
#else
    vecu bits = (vecu)value;
    vecu rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    vecu is_nan = (vecu)(value != value);
    vecu nan = (bits >> 16) | 0x40;
    return vec_to_u16((rounded & ~is_nan) | (nan & is_nan));
#endif
}

/* bf16 is the upper half of a float, so widening is a shift. */
VEC_INLINE vecf vec_load(const void *base, size_t at, enum elem elem) {
    if (elem == ELEM_F32) {
        vecf value;
        memcpy(&value, (const float *)base + at, sizeof value);
        return value;
    }
    vech half;
    memcpy(&half, (const uint16_t *)base + at, sizeof half);
    return (vecf)(vec_from_u16(half) << 16);
}

/* Never reads past N elements, so a row may end with its page. N is at least 1 and at most
 * LANES. */
VEC_INLINE vecf vec_load_n(const void *base, size_t at, size_t n, enum elem elem) {
    if (n == LANES)
        return vec_load(base, at, elem);
    if (elem == ELEM_F32) {
        vecf value = {0};
        memcpy(&value, (const float *)base + at, n * sizeof(float));
        return value;
    }
    vech half = {0};
    memcpy(&half, (const uint16_t *)base + at, n * sizeof(uint16_t));
    return (vecf)(vec_from_u16(half) << 16);
}

/* AT counts elements, not bytes, in either type. */
VEC_INLINE void vec_store(void *base, size_t at, vecf value, enum elem elem) {
    if (elem == ELEM_F32) {
        memcpy((float *)base + at, &value, sizeof value);
        return;
    }
    vech half = vec_to_bf16(value);
    memcpy((uint16_t *)base + at, &half, sizeof half);
}

/* Never writes past N elements: the next row may belong to another thread. */
VEC_INLINE void vec_store_n(void *base, size_t at, vecf value, size_t n, enum elem elem) {
    if (n == LANES) {
        vec_store(base, at, value, elem);
    } else if (elem == ELEM_F32) {
        memcpy((float *)base + at, &value, n * sizeof(float));
    } else {
        vech half = vec_to_bf16(value);
        memcpy((uint16_t *)base + at, &half, n * sizeof(uint16_t));
    }
}

/* Stores past the caches, if possible: for results too large to be read back from them. The address
 * must be aligned to the stored bytes; call vec_fence() before another thread reads. Without AVX2
 * it is an ordinary store. */
VEC_INLINE void vec_stream(void *base, size_t at, vecf value, enum elem elem) {
#if defined(__AVX512F__)
    if (elem == ELEM_F32)
        _mm512_stream_ps((float *)base + at, (__m512)value);
    else
        _mm256_stream_si256((__m256i *)(void *)((uint16_t *)base + at),
                            (__m256i)vec_to_bf16(value));
#elif defined(__AVX2__)
    if (elem == ELEM_F32)
        _mm256_stream_ps((float *)base + at, (__m256)value);
    else
        _mm_stream_si128((__m128i *)(void *)((uint16_t *)base + at), (__m128i)vec_to_bf16(value));
#else
    vec_store(base, at, value, elem);
#endif
}

/* Stores 16 words, a whole line, past the caches: all weights are written before any is read. TO is
 * aligned to the line in every variant. */
VEC_INLINE void vec_stream_line(uint32_t *to, const uint32_t line[16]) {
#ifdef __AVX512F__
    _mm512_stream_si512((void *)to, _mm512_loadu_si512(line));
#elif defined(__AVX2__)
    for (int half = 0; half < 2; half++)
        _mm256_stream_si256((void *)(to + 8 * half),
                            _mm256_loadu_si256((const void *)(line + 8 * half)));
#else
    memcpy(to, line, 16 * sizeof *line);
#endif
}

/* Prefetches the cache line of an element; any address is fine. A prefetch never faults, so callers
 * need not test for the end of a tensor. */
VEC_INLINE void vec_prefetch(const void *base, size_t at, enum elem elem) {
    __builtin_prefetch((const char *)base + at * elem_size(elem), 0, 3);
}

/* Orders streamed stores before later ones; other stores need no fence on x86. */
VEC_INLINE void vec_fence(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Lanes of A and B, by their numbers in PATTERN; those of B follow those of A. clang has no shuffle
 * by a variable, and is left to make one of the loop. */
VEC_INLINE vecf vec_shuffle(vecf a, vecf b, veci pattern) {
#ifdef __clang__
    vecf ret = a;
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t from = (size_t)pattern[lane];
        ret[lane] = from < LANES ? a[from] : b[from - LANES];
    }
    return ret;
#else
    return __builtin_shuffle(a, b, pattern);
#endif
}

/* Transposes: lane i of each row becomes row i. At each step blocks of `half` lanes are exchanged
 * across the diagonal (Eklundh 1972). The patterns of each step are constants after unrolling, so
 * every exchange is one or two shuffles in registers. */
VEC_INLINE void vec_transpose(vecf *rows) {
#pragma GCC unroll 4
    for (size_t half = 1; half < LANES; half *= 2) {
        veci low = {0}, high = {0};
#pragma GCC unroll 16
        for (size_t lane = 0; lane < LANES; lane++) {
            low[lane] = (int32_t)((lane & half) == 0 ? lane : LANES + lane - half);
            high[lane] = (int32_t)((lane & half) == 0 ? lane + half : LANES + lane);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++) {
            vecf a = rows[i], b = rows[(i + half) % LANES];
            if ((i & half) != 0)
                continue;
            rows[i] = vec_shuffle(a, b, low);
            rows[i + half] = vec_shuffle(a, b, high);
        }
    }
}

/* Columns [0, 16) of LANES rows, FROM_ROW floats apart, become rows of LANES, TO_ROW apart. Sixteen
 * columns are a multiple of LANES for every instruction set. */
VEC_INLINE void vec_turn(const float *from, size_t from_row, float *to, size_t to_row) {
    for (size_t column = 0; column < 16; column += LANES) {
        vecf rows[LANES];
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            rows[i] = vec_load(from + i * from_row, column, ELEM_F32);
        vec_transpose(rows);
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            vec_store(to + (column + i) * to_row, 0, rows[i], ELEM_F32);
    }
}

/* In the order of the lanes, so that the result depends on LANES alone. */
VEC_INLINE float vec_sum(vecf value) {
    float sum = 0;
    for (size_t i = 0; i < LANES; i++)
        sum += value[i];
    return sum;
}

/* NaN in lane 0 stays; in another lane it is never greater and is passed over. */
VEC_INLINE float vec_max(vecf value) {
    float max = value[0];
    for (size_t i = 1; i < LANES; i++)
        max = value[i] > max ? value[i] : max;
    return max;
}

#endif
