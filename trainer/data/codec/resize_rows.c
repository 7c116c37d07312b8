#include "trainer/data/codec/resize_rows.h"

#include "trainer/data/codec/image.h"

#include <string.h>

enum {
    DOWN_SHIFT = RESIZE_WEIGHT_BITS - RESIZE_BETWEEN_BITS,
    ACROSS_SHIFT = RESIZE_WEIGHT_BITS + RESIZE_BETWEEN_BITS,
    PAIR = 2 * IMAGE_CHANNELS, /* values of two pixels */
};

static void down_from(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                      size_t begin, size_t size, int16_t *out) {
    for (size_t i = begin; i < size; i++) {
        int32_t sum = 1 << (DOWN_SHIFT - 1);
        for (int k = 0; k < taps; k++)
            if (weights[k] != 0)
                sum += weights[k] * first[(size_t)k * stride + i];
        out[i] = (int16_t)(sum >> DOWN_SHIFT);
    }
}

static void across_one(const int16_t *row, const struct resize_axis *axis, int place,
                       uint8_t *pixel) {
    const int16_t *weights = axis->weights + (size_t)place * (size_t)axis->taps;
    int32_t sum[IMAGE_CHANNELS] = {0};
    if (axis->first[place] >= 0) {
        const int16_t *in = row + (size_t)axis->first[place] * IMAGE_CHANNELS;
        for (int k = 0; k < axis->taps; k++)
            for (int c = 0; c < IMAGE_CHANNELS; c++)
                sum[c] += weights[k] * (weights[k] != 0 ? in[k * IMAGE_CHANNELS + c] : 0);
    }
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        pixel[c] = (uint8_t)((sum[c] + (1 << (ACROSS_SHIFT - 1))) >> ACROSS_SHIFT);
}

void resize_down_plain(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                       size_t size, int16_t *out) {
    down_from(first, stride, weights, taps, 0, size, out);
}

void resize_across_plain(const int16_t *row, const struct resize_axis *axis, int count, bool flip,
                         uint8_t *out) {
    for (int place = 0; place < count; place++)
        across_one(row, axis, place,
                   out + (size_t)(flip ? count - 1 - place : place) * IMAGE_CHANNELS);
}

#if defined(__SSE2__)
#include <emmintrin.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static __m128i weight_pair(const int16_t *weights) {
    int32_t pair;
    memcpy(&pair, weights, sizeof(pair));
    return _mm_set1_epi32(pair);
}

/* Sixteen columns: weights in pairs, so that one multiply-add takes two rows. */
static void down_sixteen(const uint8_t *in, size_t stride, const int16_t *weights, int taps,
                         int16_t *out) {
    const __m128i zero = _mm_setzero_si128();
    __m128i sum[4];
    for (int q = 0; q < 4; q++)
        sum[q] = _mm_set1_epi32(1 << (DOWN_SHIFT - 1));
    for (int k = 0; k < taps && weights[k] != 0; k += 2) {
        const uint8_t *row = in + (size_t)k * stride;
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)row);
        __m128i b = weights[k + 1] == 0
                        ? zero
                        : _mm_loadu_si128((const __m128i *)(const void *)(row + stride));
        __m128i low = _mm_unpacklo_epi8(a, b);
        __m128i high = _mm_unpackhi_epi8(a, b);
        __m128i w = weight_pair(weights + k);
        sum[0] = _mm_add_epi32(sum[0], _mm_madd_epi16(_mm_unpacklo_epi8(low, zero), w));
        sum[1] = _mm_add_epi32(sum[1], _mm_madd_epi16(_mm_unpackhi_epi8(low, zero), w));
        sum[2] = _mm_add_epi32(sum[2], _mm_madd_epi16(_mm_unpacklo_epi8(high, zero), w));
        sum[3] = _mm_add_epi32(sum[3], _mm_madd_epi16(_mm_unpackhi_epi8(high, zero), w));
    }
    for (int q = 0; q < 4; q++)
        sum[q] = _mm_srai_epi32(sum[q], DOWN_SHIFT);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_packs_epi32(sum[0], sum[1]));
    _mm_storeu_si128((__m128i *)(void *)(out + 8), _mm_packs_epi32(sum[2], sum[3]));
}

#if defined(__x86_64__)
/* The same for thirty-two columns. The halves of a register stay separate from unpacking to
 * packing; only the stores restore their order. */
__attribute__((target("avx2"))) static void
down_thirty_two(const uint8_t *in, size_t stride, const int16_t *weights, int taps, int16_t *out) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum[4];
    for (int q = 0; q < 4; q++)
        sum[q] = _mm256_set1_epi32(1 << (DOWN_SHIFT - 1));
    for (int k = 0; k < taps && weights[k] != 0; k += 2) {
        const uint8_t *row = in + (size_t)k * stride;
        int32_t pair;
        memcpy(&pair, weights + k, sizeof(pair));
        __m256i w = _mm256_set1_epi32(pair);
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)row);
        __m256i b = weights[k + 1] == 0
                        ? zero
                        : _mm256_loadu_si256((const __m256i *)(const void *)(row + stride));
        __m256i low = _mm256_unpacklo_epi8(a, b);
        __m256i high = _mm256_unpackhi_epi8(a, b);
        sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
        sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
        sum[2] = _mm256_add_epi32(sum[2], _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
        sum[3] = _mm256_add_epi32(sum[3], _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
    }
    for (int q = 0; q < 4; q++)
        sum[q] = _mm256_srai_epi32(sum[q], DOWN_SHIFT);
    __m256i low = _mm256_packs_epi32(sum[0], sum[1]);
    __m256i high = _mm256_packs_epi32(sum[2], sum[3]);
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(out + 16), _mm256_permute2x128_si256(low, high, 0x31));
}

__attribute__((target("avx2"))) static size_t down_wide(const uint8_t *first, size_t stride,
                                                        const int16_t *weights, int taps,
                                                        size_t size, int16_t *out) {
    size_t i = 0;
    for (; i + 32 <= size; i += 32)
        down_thirty_two(first + i, stride, weights, taps, out + i);
    return i;
}
#endif

void resize_down(const uint8_t *first, size_t stride, const int16_t *weights, int taps, size_t size,
                 int16_t *out) {
    size_t i = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        i = down_wide(first, stride, weights, taps, size, out);
#endif
    for (; i + 16 <= size; i += 16)
        down_sixteen(first + i, stride, weights, taps, out + i);
    down_from(first, stride, weights, taps, i, size, out);
}

/* Two neighbouring pixels at once; the fourth lane holds the next pixel's red and is dropped. */
static inline __m128i across_pairs(const int16_t *in, const int16_t *weights, int taps) {
    __m128i sum = _mm_set1_epi32(1 << (ACROSS_SHIFT - 1));
    for (int k = 0; k < taps; k += 2, in += PAIR) {
        __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)in);
        __m128i b = _mm_loadl_epi64((const __m128i *)(const void *)(in + IMAGE_CHANNELS));
        __m128i both = _mm_unpacklo_epi16(a, b);
        sum = _mm_add_epi32(sum, _mm_madd_epi16(both, weight_pair(weights + k)));
    }
    return sum;
}

static inline void across_row(const int16_t *row, const struct resize_axis *axis, int taps,
                              int count, bool flip, uint8_t *out) {
    const ptrdiff_t step = flip ? -IMAGE_CHANNELS : IMAGE_CHANNELS;
    const int16_t *weights = axis->weights;
    out += flip ? (size_t)(count - 1) * IMAGE_CHANNELS : 0;
    for (int place = 0; place < count; place++, out += step, weights += taps) {
        uint32_t pixel = 0;
        if (axis->first[place] >= 0) {
            const int16_t *in = row + (size_t)axis->first[place] * IMAGE_CHANNELS;
            __m128i sum = _mm_srai_epi32(across_pairs(in, weights, taps), ACROSS_SHIFT);
            sum = _mm_packs_epi32(sum, sum);
            pixel = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
        }
        memcpy(out, &pixel, IMAGE_CHANNELS);
    }
}

/* A compile-time number of weights allows unrolling: the usual ones have their own copies. */
void resize_across(const int16_t *row, const struct resize_axis *axis, int count, bool flip,
                   uint8_t *out) {
    if (axis->taps == 2)
        across_row(row, axis, 2, count, flip, out);
    else if (axis->taps == 4)
        across_row(row, axis, 4, count, flip, out);
    else
        across_row(row, axis, axis->taps, count, flip, out);
}
#else
void resize_down(const uint8_t *first, size_t stride, const int16_t *weights, int taps, size_t size,
                 int16_t *out) {
    resize_down_plain(first, stride, weights, taps, size, out);
}

void resize_across(const int16_t *row, const struct resize_axis *axis, int count, bool flip,
                   uint8_t *out) {
    resize_across_plain(row, axis, count, flip, out);
}
#endif
