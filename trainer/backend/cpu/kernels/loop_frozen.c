#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

VEC_INLINE void backward_at(const struct frozen_backward *f, enum elem elem, size_t at, size_t c,
                            size_t n) {
    vecf g = vec_load_n(f->dy, at, n, elem);
    if (f->y != NULL)
        g = vec_keep(vec_passes(vec_load_n(f->y, at, n, elem)), g);
    if (f->dside != NULL) {
        vecf side = f->side_scale == NULL ? g : g * vec_load_n(f->side_scale, c, n, ELEM_F32);
        vec_store_n(f->dside, at, side, n, elem);
    }
    vec_store_n(f->dx, at, g * vec_load_n(f->scale, c, n, ELEM_F32), n, elem);
}

VEC_INLINE void backward_of(const struct frozen_backward *frozen, enum elem elem, size_t begin,
                            size_t end) {
    const struct frozen_backward f = *frozen;
    for (size_t row = begin; row < end; row++)
        for (size_t c = 0; c < f.channels; c += LANES)
            backward_at(&f, elem, row * f.channels + c, c,
                        f.channels - c < LANES ? f.channels - c : LANES);
}

void LOOP(frozen_backward)(const struct frozen_backward *frozen, size_t begin, size_t end) {
    if (frozen->elem == ELEM_F32)
        backward_of(frozen, ELEM_F32, begin, end);
    else
        backward_of(frozen, ELEM_BF16, begin, end);
}
