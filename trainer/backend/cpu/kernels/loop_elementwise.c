#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* Conversions, sums and copies of whole rows. An inlined body gets the type as a constant, so its
 * loop does not branch on it. The last vector of a row may be a partial one. */

VEC_INLINE void convert_of(const void *from, enum elem elem, void *to, enum elem to_elem,
                           size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += LANES) {
        size_t n = end - at < LANES ? end - at : LANES;
        vec_store_n(to, at, vec_load_n(from, at, n, elem), n, to_elem);
    }
}

void LOOP(widen)(const void *half, float *wide, size_t begin, size_t end) {
    convert_of(half, ELEM_BF16, wide, ELEM_F32, begin, end);
}

void LOOP(narrow)(const float *wide, void *half, size_t begin, size_t end) {
    convert_of(wide, ELEM_F32, half, ELEM_BF16, begin, end);
}

/* Vector by vector of channels, down all rows: a sum stays in a register. */
VEC_INLINE void sum_of(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                       void *y, enum elem y_elem) {
    for (size_t c = 0; c < channels; c += LANES) {
        size_t n = channels - c < LANES ? channels - c : LANES;
        vecf sum = {0};
        for (size_t row = 0; row < rows; row++)
            sum += vec_load_n(x, row * channels + c, n, elem);
        vec_store_n(y, c, sum * vec_set(factor), n, y_elem);
    }
}

void LOOP(sum_rows)(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                    void *y) {
    if (elem == ELEM_F32)
        sum_of(x, ELEM_F32, channels, rows, factor, y, ELEM_F32);
    else
        sum_of(x, ELEM_BF16, channels, rows, factor, y, ELEM_BF16);
}

void LOOP(sum_columns)(const void *x, enum elem elem, size_t channels, size_t rows, float *y) {
    if (elem == ELEM_F32)
        sum_of(x, ELEM_F32, channels, rows, 1, y, ELEM_F32);
    else
        sum_of(x, ELEM_BF16, channels, rows, 1, y, ELEM_F32);
}

VEC_INLINE void spread_row_of(const void *x, enum elem elem, size_t channels, size_t rows,
                              float factor, void *y) {
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < channels; c += LANES) {
            size_t n = channels - c < LANES ? channels - c : LANES;
            vecf value = vec_load_n(x, c, n, elem) * vec_set(factor);
            vec_store_n(y, row * channels + c, value, n, elem);
        }
}

void LOOP(spread_row)(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                      void *y) {
    if (elem == ELEM_F32)
        spread_row_of(x, ELEM_F32, channels, rows, factor, y);
    else
        spread_row_of(x, ELEM_BF16, channels, rows, factor, y);
}
