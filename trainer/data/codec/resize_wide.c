#include "trainer/data/codec/resize_wide.h"

#if defined(__x86_64__)
#include "trainer/data/codec/image.h"

#include <immintrin.h>
#include <string.h>

/* Versions with the bits of resize_rows.c, on wider registers. The functions have the instruction
 * set as an attribute, not the whole file: the compiler must not use it where resize_isa_best has
 * not been asked.
 *
 * Down is the same loop as with SSE2. Across differs: AVX2 loads the pixels of each place
 * separately and works on eight places, four values each. AVX-512 loads one stretch of the row and
 * permutes it, so that the three sums of five places fill fifteen of its sixteen lanes. */
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

enum {
    PAIR = 2 * IMAGE_CHANNELS, /* values of two pixels */
    LANES = 8,                 /* AVX2: places of a group, four values each */
    VALUES = 16,               /* of an AVX2 register */
    HALF = LANES / 2,
    GROUP = 5,       /* AVX-512: places of a group, three sums each */
    WIDE = 32,       /* values of an AVX-512 register */
    WIDE_INPUTS = 2, /* that one instruction permutes */
};

/* Returns the place of output pixel I, or -1 for black and after the end. Mirroring is dealt with
 * here alone: later code goes from left to right. */
static int place_of(const struct resize_across *across, int i) {
    const int place = across->flip ? across->count - 1 - i : i;
    return i < across->count && across->axis->first[place] >= 0 ? place : -1;
}

/* Makes room for FIRSTS places and VALUES weights. The old content is lost. On failure either may
 * be NULL, and `across` can only be freed or prepared again. */
static int reserve(struct resize_across *across, size_t firsts, size_t values, struct error *err) {
    across->first =
        resize_grown(across->first, &across->first_capacity, firsts * sizeof(*across->first));
    across->vectors =
        resize_grown(across->vectors, &across->vectors_capacity, values * sizeof(*across->vectors));
    return across->first != NULL && across->vectors != NULL ? 0
                                                            : error_no_memory(err, "resampling");
}

/* Sixteen columns: bytes become 16-bit values, and one multiply-add takes two rows of them. */
AVX2 static void down_sixteen(const uint8_t *in, size_t stride, const int16_t *weights, int taps,
                              int16_t *out) {
    __m256i low = _mm256_set1_epi32(1 << (RESIZE_DOWN_SHIFT - 1));
    __m256i high = low;
    for (int k = 0; k < taps && weights[k] != 0; k += 2) {
        const uint8_t *row = in + (size_t)k * stride;
        /* A row with weight 0 may lie after the picture; any other serves in its place. */
        const uint8_t *next = weights[k + 1] == 0 ? row : row + stride;
        int32_t pair;
        memcpy(&pair, weights + k, sizeof(pair));
        const __m256i w = _mm256_set1_epi32(pair);
        const __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)row));
        const __m256i b =
            _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)next));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
    }
    low = _mm256_srai_epi32(low, RESIZE_DOWN_SHIFT);
    high = _mm256_srai_epi32(high, RESIZE_DOWN_SHIFT);
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_packs_epi32(low, high));
}

/* A row shorter than a vector is left to others. The last vector of a longer one ends at the row's
 * end and may compute some columns twice, with the same result. */
AVX2 size_t resize_down_avx2(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                             size_t size, int16_t *out) {
    size_t i = 0;
    if (size < VALUES)
        return 0;
    for (; i + VALUES < size; i += VALUES)
        down_sixteen(first + i, stride, weights, taps, out + i);
    i = size - VALUES; /* the last vector may overlap the one before */
    down_sixteen(first + i, stride, weights, taps, out + i);
    return size;
}

/* As down_sixteen, for 32 columns. Unpacking and packing work within lanes of 128 bits, so that one
 * undoes the order of the other. */
AVX512 static void down_thirty_two(const uint8_t *in, size_t stride, const int16_t *weights,
                                   int taps, int16_t *out) {
    __m512i low = _mm512_set1_epi32(1 << (RESIZE_DOWN_SHIFT - 1));
    __m512i high = low;
    for (int k = 0; k < taps && weights[k] != 0; k += 2) {
        const uint8_t *row = in + (size_t)k * stride;
        const uint8_t *next = weights[k + 1] == 0 ? row : row + stride;
        int32_t pair;
        memcpy(&pair, weights + k, sizeof(pair));
        const __m512i w = _mm512_set1_epi32(pair);
        const __m512i a =
            _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)row));
        const __m512i b =
            _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)next));
        low = _mm512_add_epi32(low, _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), w));
        high = _mm512_add_epi32(high, _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), w));
    }
    low = _mm512_srai_epi32(low, RESIZE_DOWN_SHIFT);
    high = _mm512_srai_epi32(high, RESIZE_DOWN_SHIFT);
    _mm512_storeu_si512(out, _mm512_packs_epi32(low, high));
}

AVX512 size_t resize_down_avx512(const uint8_t *first, size_t stride, const int16_t *weights,
                                 int taps, size_t size, int16_t *out) {
    size_t i = 0;
    if (size < WIDE)
        return 0;
    for (; i + WIDE < size; i += WIDE)
        down_thirty_two(first + i, stride, weights, taps, out + i);
    i = size - WIDE;
    down_thirty_two(first + i, stride, weights, taps, out + i);
    return size;
}

/* A group's weights are HALF registers for each two taps. Register j has place j in its low half
 * and j + HALF in its high half, so that packing leaves the places in order. */
int resize_across_prepare_avx2(struct resize_across *across, struct error *err) {
    const int pairs = across->axis->taps / 2;
    const int places = (across->count + LANES - 1) / LANES * LANES;
    if (reserve(across, (size_t)places, (size_t)places * (size_t)pairs * VALUES / 2, err) != 0)
        return -1;
    for (int i = 0; i < places; i++) {
        const int place = place_of(across, i);
        const int at = i % LANES;
        int16_t *vectors = across->vectors + (size_t)(i - at) * (size_t)pairs * VALUES / 2 +
                           at % HALF * VALUES + at / HALF * VALUES / 2;
        across->first[i] = place < 0 ? 0 : across->axis->first[place] * IMAGE_CHANNELS;
        for (int k = 0; k < pairs; k++, vectors += HALF * VALUES)
            for (int lane = 0; lane < VALUES / 2; lane++)
                vectors[lane] = place < 0
                                    ? 0
                                    : across->axis->weights[(size_t)place * (size_t)pairs * 2 +
                                                            (size_t)(2 * k + lane % 2)];
    }
    return 0;
}

/* Loads two pixels at each of two places and brings their values into pairs: red with red, green
 * with green, blue with blue. The last quarter of each half becomes 0. Eight values are read, of
 * which six are used; the row has slack for that. */
AVX2 static inline __m256i two_places(const int16_t *low, const int16_t *high) {
    const __m256i pairs = _mm256_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1, 0,
                                           1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1);
    const __m256i both = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
        _mm_loadu_si128((const __m128i *)(const void *)high), 1);
    return _mm256_shuffle_epi8(both, pairs);
}

/* Writes the pixels of a group, 24 bytes, and four bytes after them. Shifts, two packings with
 * saturation and a shuffle turn the 32-bit sums of each place into its three bytes. */
AVX2 static inline void store_eight(const __m256i *sum, uint8_t *out) {
    const __m256i drop_fourth =
        _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6,
                         8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(
        _mm256_packus_epi16(_mm256_packs_epi32(_mm256_srai_epi32(sum[0], RESIZE_ACROSS_SHIFT),
                                               _mm256_srai_epi32(sum[1], RESIZE_ACROSS_SHIFT)),
                            _mm256_packs_epi32(_mm256_srai_epi32(sum[2], RESIZE_ACROSS_SHIFT),
                                               _mm256_srai_epi32(sum[3], RESIZE_ACROSS_SHIFT))),
        drop_fourth);
    _mm_storeu_si128((__m128i *)(void *)out, _mm256_castsi256_si128(bytes));
    _mm_storeu_si128((__m128i *)(void *)(out + HALF * IMAGE_CHANNELS),
                     _mm256_extracti128_si256(bytes, 1));
}

/* Adds the values from ROW on, at FIRST, multiplied by the weights of two taps. */
AVX2 static inline __m256i add_two(__m256i sum, const int16_t *row, const int *first,
                                   const int16_t *weights) {
    const __m256i values = two_places(row + first[0], row + first[HALF]);
    const __m256i w = _mm256_load_si256((const __m256i *)(const void *)weights);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(values, w));
}

AVX2 void resize_across_avx2(const struct resize_across *across, const int16_t *row, uint8_t *out) {
    const int pairs = across->axis->taps / 2;
    const __m256i half = _mm256_set1_epi32(1 << (RESIZE_ACROSS_SHIFT - 1));
    const int16_t *vectors = across->vectors;
    for (int i = 0; i < across->count; i += LANES, out += LANES * IMAGE_CHANNELS) {
        const int *first = across->first + i;
        const int16_t *in = row;
        __m256i sum[HALF] = {half, half, half, half};
        for (int k = 0; k < pairs; k++, in += PAIR, vectors += HALF * VALUES) {
            sum[0] = add_two(sum[0], in, first, vectors);
            sum[1] = add_two(sum[1], in, first + 1, vectors + VALUES);
            sum[2] = add_two(sum[2], in, first + 2, vectors + 2 * VALUES);
            sum[3] = add_two(sum[3], in, first + 3, vectors + 3 * VALUES);
        }
        if (across->count - i > LANES + 1) {
            store_eight(sum, out);
        } else { /* what is written after the group would be after the row */
            uint8_t last[LANES * IMAGE_CHANNELS + HALF];
            const int left = across->count - i < LANES ? across->count - i : LANES;
            store_eight(sum, last);
            memcpy(out, last, (size_t)left * IMAGE_CHANNELS);
        }
    }
}

/* Returns the first and sets *RET_SPREAD to the number of pixels from there to the last one at
 * which a place of group I begins. */
static int group_begin(const struct resize_across *across, int i, int *ret_spread) {
    int low = -1;
    int high = -1;
    for (int j = 0; j < GROUP; j++) {
        const int place = place_of(across, i + j);
        const int first = place < 0 ? -1 : across->axis->first[place];
        low = first >= 0 && (low < 0 || first < low) ? first : low;
        high = first > high ? first : high;
    }
    *ret_spread = high - low;
    return low < 0 ? 0 : low;
}

/* Fills the permutation that brings the values of a group's places from one that begins at pixel
 * LOW, in pairs, and after it the weights of each two taps. */
static void fill_group(const struct resize_across *across, int i, int low, int16_t *vectors) {
    const int taps = across->axis->taps;
    /* Lanes without a place have weight 0 and permute value 0, whatever that is. */
    memset(vectors, 0, (size_t)(taps / 2 + 1) * WIDE * sizeof(*vectors));
    for (int j = 0; j < GROUP; j++) {
        const int place = place_of(across, i + j);
        if (place < 0)
            continue;
        const int16_t *weights = across->axis->weights + (size_t)place * (size_t)taps;
        const int from = (across->axis->first[place] - low) * IMAGE_CHANNELS;
        for (int lane = 0; lane < PAIR; lane++) {
            int16_t *vector = vectors + j * PAIR + lane;
            *vector = (int16_t)(from + lane / 2 + lane % 2 * IMAGE_CHANNELS);
            /* Even lanes take the first weight of each pair of taps, odd lanes the second. */
            for (int k = lane % 2; k < taps; k += 2)
                *(vector += WIDE) = weights[k];
        }
    }
}

/* Fills the groups before it knows whether they fit. A pair of taps reads two pixels from each
 * place, so that a permutation spans the spread of the group and two pixels more. */
int resize_across_prepare_avx512(struct resize_across *across, bool *ret_fits, struct error *err) {
    const size_t size = ((size_t)across->axis->taps / 2 + 1) * WIDE;
    const size_t groups = ((size_t)across->count + GROUP - 1) / GROUP;
    int widest = 0;
    if (reserve(across, groups, groups * size, err) != 0)
        return -1;
    for (size_t g = 0; g < groups; g++) {
        int spread;
        const int low = group_begin(across, (int)g * GROUP, &spread);
        widest = spread > widest ? spread : widest;
        across->first[g] = low * IMAGE_CHANNELS;
        fill_group(across, (int)g * GROUP, low, across->vectors + g * size);
    }
    /* Registers for the values of the widest group. */
    across->inputs = ((widest + 2) * IMAGE_CHANNELS + WIDE - 1) / WIDE;
    *ret_fits = across->inputs <= WIDE_INPUTS;
    return 0;
}

/* PAIRS and INPUTS are constants in the calls below, for which the compiler makes loops of their
 * own. Lane 15 has no sum, and a mask keeps the store within the row. Negative sums become 0 before
 * the narrowing, which takes values as unsigned. */
AVX512 static inline void across_groups(const struct resize_across *across, int pairs, int inputs,
                                        const int16_t *row, uint8_t *out) {
    const int16_t *vectors = across->vectors;
    const int *first = across->first;
    for (int i = 0; i < across->count; i += GROUP, out += GROUP * IMAGE_CHANNELS) {
        const int16_t *in = row + *first++;
        const __m512i order = _mm512_load_si512(vectors);
        __m512i sum = _mm512_set1_epi32(1 << (RESIZE_ACROSS_SHIFT - 1));
        vectors += WIDE;
        for (int k = 0; k < pairs; k++, in += PAIR, vectors += WIDE) {
            __m512i values = _mm512_loadu_si512(in);
            values = inputs == 1
                         ? _mm512_permutexvar_epi16(order, values)
                         : _mm512_permutex2var_epi16(values, order, _mm512_loadu_si512(in + WIDE));
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(values, _mm512_load_si512(vectors)));
        }
        sum = _mm512_max_epi32(_mm512_srai_epi32(sum, RESIZE_ACROSS_SHIFT), _mm512_setzero_si512());
        const int left = across->count - i < GROUP ? across->count - i : GROUP;
        _mm_mask_storeu_epi8(out, (__mmask16)((1U << (left * IMAGE_CHANNELS)) - 1),
                             _mm512_cvtusepi32_epi8(sum));
    }
}

/* The usual numbers of weights have loops of their own, which the compiler unrolls. */
AVX512 void resize_across_avx512(const struct resize_across *across, const int16_t *row,
                                 uint8_t *out) {
    const int pairs = across->axis->taps / 2;
    if (across->inputs > 1)
        across_groups(across, pairs, 2, row, out);
    else if (pairs == 1)
        across_groups(across, 1, 1, row, out);
    else if (pairs == 2)
        across_groups(across, 2, 1, row, out);
    else
        across_groups(across, pairs, 1, row, out);
}
#endif
