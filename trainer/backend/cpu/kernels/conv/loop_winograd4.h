/* One-dimensional transforms of winograd4.h on vectors, each over values STEP apart. The
 * two-dimensional ones apply them to columns, then to rows. For loop_winograd4*.c only. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_WINOGRAD4_H
#define TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_WINOGRAD4_H

#include "trainer/backend/cpu/kernels/vec.h"
#include "trainer/backend/cpu/kernels/winograd4.h"

enum { SIX = 6, FOUR = 4, THREE = 3, PLACES = WINOGRAD4_PLACES };

/* B': six from six. */
VEC_INLINE void winograd4_b(const vecf *d, size_t step, vecf *ret, size_t ret_step) {
    vecf d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    vecf even = d4 - vec_set(4) * d2, odd = d3 - vec_set(4) * d1;
    vecf even2 = d4 - d2, odd2 = d3 - d1;
    ret[0] = vec_set(4) * d[0] + (d4 - vec_set(5) * d2);
    ret[ret_step] = even + odd;
    ret[2 * ret_step] = even - odd;
    ret[3 * ret_step] = even2 + vec_set(2) * odd2;
    ret[4 * ret_step] = even2 - vec_set(2) * odd2;
    ret[5 * ret_step] = vec_set(4) * d1 + (d[5 * step] - vec_set(5) * d3);
}

/* A': four from six. */
VEC_INLINE void winograd4_at(const vecf *m, size_t step, vecf *ret, size_t ret_step) {
    vecf sum = m[step] + m[2 * step], rest = m[step] - m[2 * step];
    vecf sum2 = m[3 * step] + m[4 * step], rest2 = m[3 * step] - m[4 * step];
    ret[0] = m[0] + (sum + sum2);
    ret[ret_step] = rest + vec_set(2) * rest2;
    ret[2 * ret_step] = sum + vec_set(4) * sum2;
    ret[3 * ret_step] = m[5 * step] + (rest + vec_set(8) * rest2);
}

/* A: six from four. */
VEC_INLINE void winograd4_a(const vecf *y, size_t step, vecf *ret, size_t ret_step) {
    vecf y1 = y[step], y3 = y[3 * step];
    vecf even = y[0] + y[2 * step], odd = y1 + y3;
    vecf even2 = y[0] + vec_set(4) * y[2 * step], odd2 = vec_set(2) * (y1 + vec_set(4) * y3);
    ret[0] = y[0];
    ret[ret_step] = even + odd;
    ret[2 * ret_step] = even - odd;
    ret[3 * ret_step] = even2 + odd2;
    ret[4 * ret_step] = even2 - odd2;
    ret[5 * ret_step] = y3;
}

/* G: six from three. */
VEC_INLINE void winograd4_g(const vecf *w, size_t step, vecf *ret, size_t ret_step) {
    vecf w0 = w[0], w1 = w[step], w2 = w[2 * step];
    vecf even = vec_set(-1 / 6.0F) * (w0 + w2), odd = vec_set(-1 / 6.0F) * w1;
    vecf even2 = vec_set(1 / 24.0F) * w0 + vec_set(1 / 6.0F) * w2, odd2 = vec_set(1 / 12.0F) * w1;
    ret[0] = vec_set(0.25F) * w0;
    ret[ret_step] = even + odd;
    ret[2 * ret_step] = even - odd;
    ret[3 * ret_step] = even2 + odd2;
    ret[4 * ret_step] = even2 - odd2;
    ret[5 * ret_step] = w2;
}

/* G': three from six. */
VEC_INLINE void winograd4_gt(const vecf *u, size_t step, vecf *ret, size_t ret_step) {
    vecf sum = vec_set(1 / 6.0F) * (u[step] + u[2 * step]);
    vecf rest = vec_set(1 / 6.0F) * (u[2 * step] - u[step]);
    vecf sum2 = vec_set(1 / 24.0F) * (u[3 * step] + u[4 * step]);
    vecf rest2 = vec_set(1 / 12.0F) * (u[3 * step] - u[4 * step]);
    ret[0] = (vec_set(0.25F) * u[0] - sum) + sum2;
    ret[ret_step] = rest + rest2;
    ret[2 * ret_step] = u[5 * step] + (vec_set(4) * sum2 - sum);
}

#endif
