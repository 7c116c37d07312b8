#include "trainer/data/codec/resize_rows.h"

#include "trainer/data/codec/image.h"
#include "trainer/data/codec/resize_wide.h"

#include <stdlib.h>
#include <string.h>

/* The passes of the resampler in resize.c. Down comes first: it makes one row of 16-bit values from
 * the input rows under the filter, column by column. Across makes the pixels of the result from
 * that row. Each output row thus needs one scratch row, and not a picture of half the size.
 *
 * A value between the passes is a pixel times 2^7. Weights add up to 2^14, so that sums stay near
 * 255 x 2^14 in down and 255 x 2^21 in across, within 32 bits. The order of additions is then of no
 * account, and all versions have the same bits; tests/unit/trainer/data/codec/test_resize_rows.c
 * compares them.
 *
 * The choice is made at run time, as one binary runs on all processors of an architecture. */

enum {
    DOWN_SHIFT = RESIZE_DOWN_SHIFT,
    ACROSS_SHIFT = RESIZE_ACROSS_SHIFT,
    PAIR = 2 * IMAGE_CHANNELS, /* values of two pixels */
};

/* AVX-512 is used only with BW and VL: without them it has no operations on 16-bit values, and none
 * on short registers. */
enum resize_isa resize_isa_best(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return RESIZE_AVX512;
    if (__builtin_cpu_supports("avx2"))
        return RESIZE_AVX2;
#endif
#if defined(__SSE2__)
    return RESIZE_SSE2;
#else
    return RESIZE_PLAIN;
#endif
}

/* Plain version of down, for columns BEGIN .. SIZE-1: what the vectors leave, or all. The sum
 * starts at half a unit, so that the shift rounds. A row with weight 0 may lie after the picture's
 * last one and is not read. */
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

/* Plain version of across, for one pixel. Values with weight 0 are not used, but a place outside
 * the picture, with a first tap of -1, is black. */
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

/* The places are computed in the order of the output; mirrored, they are taken from the end. */
static void across_plain(const struct resize_across *across, const int16_t *row, uint8_t *out) {
    for (int i = 0; i < across->count; i++)
        across_one(row, across->axis, across->flip ? across->count - 1 - i : i,
                   out + (size_t)i * IMAGE_CHANNELS);
}

#if defined(__SSE2__)
#include <emmintrin.h>

/* Two neighbouring weights in each 32-bit lane, for the multiply-add that takes values in pairs. */
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
    /* Weights are without leading zeros (resize_axis.c), so that the first 0 ends them. The second
     * row of a pair may be after the picture, where its weight is 0. */
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

/* Whole vectors alone; returns how many columns are done. */
static size_t down_sse2(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                        size_t size, int16_t *out) {
    size_t i = 0;
    for (; i + 16 <= size; i += 16)
        down_sixteen(first + i, stride, weights, taps, out + i);
    return i;
}

/* Weighted sums of the channels of one place. Two neighbouring pixels are taken at once; the fourth
 * lane holds the next pixel's red and is dropped. */
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

/* One row of pixels, from the left of the input; a mirrored one is written from the right. Packing
 * twice, with saturation, turns 32-bit sums into bytes; three of the four are the pixel. */
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
static void across_sse2(const struct resize_across *across, const int16_t *row, uint8_t *out) {
    const struct resize_axis *axis = across->axis;
    if (axis->taps == 2)
        across_row(row, axis, 2, across->count, across->flip, out);
    else if (axis->taps == 4)
        across_row(row, axis, 4, across->count, across->flip, out);
    else
        across_row(row, axis, axis->taps, across->count, across->flip, out);
}
#endif

/* The widest version goes first and does all columns or none. SSE2 and the plain loop do what it
 * has left. */
void resize_down(enum resize_isa isa, const uint8_t *first, size_t stride, const int16_t *weights,
                 int taps, size_t size, int16_t *out) {
    size_t done = 0;
    (void)isa; /* other processors have one version */
#if defined(__x86_64__)
    if (isa == RESIZE_AVX512)
        done = resize_down_avx512(first, stride, weights, taps, size, out);
    else if (isa == RESIZE_AVX2)
        done = resize_down_avx2(first, stride, weights, taps, size, out);
#endif
#if defined(__SSE2__)
    if (isa != RESIZE_PLAIN)
        done += down_sse2(first + done, stride, weights, taps, size - done, out + done);
#endif
    down_from(first, stride, weights, taps, done, size, out);
}

/* Weights are put into the order of the registers once, as all rows of a window use them. AVX-512
 * permutes whole registers and refuses an axis where neighbouring places lie too far apart; AVX2
 * then does it, and takes any. */
int resize_across_prepare(struct resize_across *across, enum resize_isa isa,
                          const struct resize_axis *axis, int count, bool flip, struct error *err) {
    across->axis = axis;
    across->count = count;
    across->flip = flip;
    across->isa = isa;
#if defined(__x86_64__)
    bool fits = false;
    if (isa == RESIZE_AVX512 && resize_across_prepare_avx512(across, &fits, err) != 0)
        return -1;
    if (fits || isa < RESIZE_AVX2)
        return 0;
    across->isa = RESIZE_AVX2;
    return resize_across_prepare_avx2(across, err);
#else
    (void)err;
    return 0;
#endif
}

/* Frees the weights; AXIS was borrowed. Initialized with zeros, `across` may be freed without
 * having been prepared. */
void resize_across_done(struct resize_across *across) {
    free(across->first);
    free(across->vectors);
    *across = (struct resize_across){0};
}

void resize_across(const struct resize_across *across, const int16_t *row, uint8_t *out) {
    switch (across->isa) {
#if defined(__x86_64__)
    case RESIZE_AVX512:
        resize_across_avx512(across, row, out);
        return;
    case RESIZE_AVX2:
        resize_across_avx2(across, row, out);
        return;
#endif
#if defined(__SSE2__)
    case RESIZE_SSE2:
        across_sse2(across, row, out);
        return;
#endif
    /* RESIZE_PLAIN, and any that the build does not have. */
    default:
        across_plain(across, row, out);
    }
}
