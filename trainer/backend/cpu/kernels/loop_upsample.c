#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* A pixel of the small map lies over a square of four. Callers pass one row of it, and one or two
 * of the large map. */

VEC_INLINE void add_of(const void *large, const void *small, enum elem elem, size_t width,
                       size_t channels, void *y) {
    for (size_t pixel = 0; pixel < 2 * width; pixel++)
        for (size_t c = 0; c < channels; c += LANES) {
            size_t n = channels - c < LANES ? channels - c : LANES, at = pixel * channels + c;
            vec_store_n(y, at,
                        vec_load_n(large, at, n, elem) +
                            vec_load_n(small, pixel / 2 * channels + c, n, elem),
                        n, elem);
        }
}

void LOOP(upsample_add)(const void *large, const void *small, enum elem elem, size_t width,
                        size_t channels, void *y) {
    if (elem == ELEM_F32)
        add_of(large, small, ELEM_F32, width, channels, y);
    else
        add_of(large, small, ELEM_BF16, width, channels, y);
}

VEC_INLINE void grad_of(const void *first, const void *second, enum elem elem, size_t width,
                        size_t channels, void *y) {
    for (size_t pixel = 0; pixel < width; pixel++)
        for (size_t c = 0; c < channels; c += LANES) {
            size_t n = channels - c < LANES ? channels - c : LANES, at = 2 * pixel * channels + c;
            vecf upper = vec_load_n(first, at, n, elem) + vec_load_n(first, at + channels, n, elem);
            vecf lower =
                vec_load_n(second, at, n, elem) + vec_load_n(second, at + channels, n, elem);
            vec_store_n(y, pixel * channels + c, upper + lower, n, elem);
        }
}

void LOOP(upsample_grad)(const void *first, const void *second, enum elem elem, size_t width,
                         size_t channels, void *y) {
    if (elem == ELEM_F32)
        grad_of(first, second, ELEM_F32, width, channels, y);
    else
        grad_of(first, second, ELEM_BF16, width, channels, y);
}
