#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* Rows summed in registers before they are added to memory, and the prefetch distance in elements:
 * the hardware prefetcher does not follow rows that are read side by side. */
enum { ROWS = 8, AHEAD = 256 };

/* A vector of N channels at C, down a few rows. What is prefetched is what will be read AHEAD
 * elements later: at the end of a row that is the beginning of the next group of rows. */
VEC_INLINE void sums_at(const void *x, enum elem elem, size_t channels, const float *around,
                        float *sum, float *square, size_t c, size_t n, size_t begin, size_t end) {
    size_t ahead = c + AHEAD < channels ? AHEAD : AHEAD + (ROWS - 1) * channels;
    if (channels <= AHEAD)
        ahead = ROWS * channels;
    vecf center = vec_load_n(around, c, n, ELEM_F32);
    vecf s = {0}, q = {0};
    for (size_t row = begin; row < end; row++) {
        vec_prefetch(x, row * channels + c + ahead, elem);
        vecf v = vec_load_n(x, row * channels + c, n, elem) - center;
        s += v;
        q += v * v;
    }
    vec_store_n(sum, c, vec_load_n(sum, c, n, ELEM_F32) + s, n, ELEM_F32);
    vec_store_n(square, c, vec_load_n(square, c, n, ELEM_F32) + q, n, ELEM_F32);
}

/* Groups of rows in the outer loop keep x in the order of memory. */
VEC_INLINE void sums_of(const void *x, enum elem elem, size_t channels, const float *around,
                        float *sum, float *square, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row += ROWS) {
        size_t last = row + ROWS < end ? row + ROWS : end, c = 0;
        for (; c + LANES <= channels; c += LANES)
            sums_at(x, elem, channels, around, sum, square, c, LANES, row, last);
        if (c < channels)
            sums_at(x, elem, channels, around, sum, square, c, channels - c, row, last);
    }
}

void LOOP(norm_sums)(const void *x, enum elem elem, size_t channels, const float *around,
                     float *sum, float *square, size_t begin, size_t end) {
    if (elem == ELEM_F32)
        sums_of(x, ELEM_F32, channels, around, sum, square, begin, end);
    else
        sums_of(x, ELEM_BF16, channels, around, sum, square, begin, end);
}

/* Streamed stores ignore N: a caller asks for them only if channels fill whole vectors. */
VEC_INLINE void forward_at(const struct norm_forward *f, enum elem elem, size_t at, size_t c,
                           size_t n) {
    vecf z = vec_load_n(f->x, at, n, elem) * vec_load_n(f->scale, c, n, ELEM_F32) +
             vec_load_n(f->shift, c, n, ELEM_F32);
    if (f->other != NULL) {
        vecf other = vec_load_n(f->other, at, n, elem);
        if (f->other_scale != NULL)
            other = other * vec_load_n(f->other_scale, c, n, ELEM_F32) +
                    vec_load_n(f->other_shift, c, n, ELEM_F32);
        z += other;
    }
    if (f->relu)
        z = vec_relu(z);
    if (f->stream)
        vec_stream(f->y, at, z, elem);
    else
        vec_store_n(f->y, at, z, n, elem);
}

/* The arguments are copied: stores through pointers cannot alias them, so they stay in
 * registers. */
VEC_INLINE void forward_of(const struct norm_forward *norm, enum elem elem, size_t begin,
                           size_t end) {
    const struct norm_forward f = *norm;
    for (size_t row = begin; row < end; row++) {
        size_t at = row * f.channels, c = 0;
        for (; c + LANES <= f.channels; c += LANES)
            forward_at(&f, elem, at + c, c, LANES);
        if (c < f.channels)
            forward_at(&f, elem, at + c, c, f.channels - c);
    }
    if (f.stream)
        vec_fence();
}

void LOOP(norm_forward)(const struct norm_forward *norm, size_t begin, size_t end) {
    if (norm->elem == ELEM_F32)
        forward_of(norm, ELEM_F32, begin, end);
    else
        forward_of(norm, ELEM_BF16, begin, end);
}
