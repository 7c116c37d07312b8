#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* Weighted sums of pixels, for bilinear sampling (blend), and the products of a 1x1 convolution
 * with one output (the *_rows loops). An axis lists, for each item, the positions that it sums and
 * their weights; an item of two axes has the products of their taps. */

/* Vectors that are summed in one pass over the taps. */
enum { BLOCK = 4 };

/* Sums one pair of items, for channels [C, C + VECTORS * LANES). */
VEC_INLINE void sum_block(const struct blend *b, size_t i, size_t k, size_t c, size_t vectors,
                          enum elem elem, vecf *sum) {
    const struct blend_axis *y = &b->y, *x = &b->x;
    for (int32_t s = y->first[i]; s < y->first[i + 1]; s++) {
        size_t row = (size_t)y->taps[s].at * b->from_row + c;
        for (int32_t t = x->first[k]; t < x->first[k + 1]; t++) {
            vecf weight = vec_set(y->taps[s].weight * x->taps[t].weight);
            size_t at = row + (size_t)x->taps[t].at * b->channels;
            for (size_t v = 0; v < vectors; v++)
                sum[v] += weight * vec_load(b->from, at + v * LANES, elem);
        }
    }
}

/* The same for the last N channels, fewer than a vector. */
VEC_INLINE vecf sum_rest(const struct blend *b, size_t i, size_t k, size_t c, size_t n,
                         enum elem elem) {
    const struct blend_axis *y = &b->y, *x = &b->x;
    vecf sum = {0};
    for (int32_t s = y->first[i]; s < y->first[i + 1]; s++)
        for (int32_t t = x->first[k]; t < x->first[k + 1]; t++) {
            size_t at =
                (size_t)y->taps[s].at * b->from_row + c + (size_t)x->taps[t].at * b->channels;
            sum +=
                vec_set(y->taps[s].weight * x->taps[t].weight) * vec_load_n(b->from, at, n, elem);
        }
    return sum;
}

/* Gradients add to what is there. */
VEC_INLINE void put(const struct blend *b, size_t at, vecf sum, size_t n, enum elem elem) {
    if (b->add)
        sum += vec_load_n(b->to, at, n, elem);
    vec_store_n(b->to, at, sum, n, elem);
}

/* Item (I, K) in all channels: blocks first, then vector by vector. */
VEC_INLINE void blend_item(const struct blend *b, size_t i, size_t k, enum elem from,
                           enum elem to) {
    size_t place = (size_t)b->y.place[i] * b->to_row + (size_t)b->x.place[k] * b->channels, c = 0;
    for (; c + BLOCK * LANES <= b->channels; c += BLOCK * LANES) {
        vecf sum[BLOCK] = {{0}};
        sum_block(b, i, k, c, BLOCK, from, sum);
        for (size_t v = 0; v < BLOCK; v++)
            put(b, place + c + v * LANES, sum[v], LANES, to);
    }
    for (; c < b->channels; c += LANES) {
        size_t n = b->channels - c < LANES ? b->channels - c : LANES;
        put(b, place + c, sum_rest(b, i, k, c, n, from), n, to);
    }
}

VEC_INLINE void blend_of(const struct blend *b, enum elem from, enum elem to) {
    for (size_t i = 0; i < b->y.count; i++)
        for (size_t k = 0; k < b->x.count; k++)
            blend_item(b, i, k, from, to);
}

/* The three pairs that occur: bf16 is blended into f32 where a gradient is accumulated. */
void LOOP(blend)(const struct blend *b) {
    if (b->from_elem == ELEM_F32)
        blend_of(b, ELEM_F32, ELEM_F32);
    else if (b->to_elem == ELEM_BF16)
        blend_of(b, ELEM_BF16, ELEM_BF16);
    else
        blend_of(b, ELEM_BF16, ELEM_F32);
}

/* Lanes beyond the last channel load zeros. */
VEC_INLINE void dot_rows_of(const void *x, enum elem elem, size_t channels, size_t rows,
                            const float *w, float bias, float *y) {
    for (size_t row = 0; row < rows; row++) {
        vecf sum = {0};
        for (size_t c = 0; c < channels; c += LANES) {
            size_t n = channels - c < LANES ? channels - c : LANES;
            sum += vec_load_n(x, row * channels + c, n, elem) * vec_load_n(w, c, n, ELEM_F32);
        }
        y[row] = vec_sum(sum) + bias;
    }
}

void LOOP(dot_rows)(const void *x, enum elem elem, size_t channels, size_t rows, const float *w,
                    float bias, float *y) {
    if (elem == ELEM_F32)
        dot_rows_of(x, ELEM_F32, channels, rows, w, bias, y);
    else
        dot_rows_of(x, ELEM_BF16, channels, rows, w, bias, y);
}

VEC_INLINE void outer_rows_of(const float *a, const float *w, enum elem elem, size_t channels,
                              size_t rows, void *y) {
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < channels; c += LANES) {
            size_t n = channels - c < LANES ? channels - c : LANES;
            vec_store_n(y, row * channels + c, vec_set(a[row]) * vec_load_n(w, c, n, ELEM_F32), n,
                        elem);
        }
}

void LOOP(outer_rows)(const float *a, const float *w, enum elem elem, size_t channels, size_t rows,
                      void *y) {
    if (elem == ELEM_F32)
        outer_rows_of(a, w, ELEM_F32, channels, rows, y);
    else
        outer_rows_of(a, w, ELEM_BF16, channels, rows, y);
}

VEC_INLINE void weigh_rows_of(const float *a, const void *x, enum elem elem, size_t channels,
                              size_t rows, float *y) {
    for (size_t c = 0; c < channels; c += LANES) {
        size_t n = channels - c < LANES ? channels - c : LANES;
        vecf sum = {0};
        for (size_t row = 0; row < rows; row++)
            sum += vec_set(a[row]) * vec_load_n(x, row * channels + c, n, elem);
        vec_store_n(y, c, sum, n, ELEM_F32);
    }
}

void LOOP(weigh_rows)(const float *a, const void *x, enum elem elem, size_t channels, size_t rows,
                      float *y) {
    if (elem == ELEM_F32)
        weigh_rows_of(a, x, ELEM_F32, channels, rows, y);
    else
        weigh_rows_of(a, x, ELEM_BF16, channels, rows, y);
}
