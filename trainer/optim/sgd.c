#include "optim/sgd.h"

#include <stdint.h>
#include <string.h>

enum { SQUARE_PIECES = 64 };

/* Below this many elements a parallel region costs more than it saves. */
enum { PARALLEL_LEAST = 16384 };

void sgd_apply(const struct sgd_step *step, float *weight, float *momentum, const float *gradient,
               size_t count) {
    const struct sgd_step s = *step;
#pragma omp parallel for simd schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t i = 0; i < count; i++)
        sgd_update(&s, &weight[i], &momentum[i], gradient[i]);
}

void sgd_accumulate(float *to, const float *from, size_t count) {
#pragma omp parallel for simd schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

bool sgd_finite(const float *values, size_t count) {
    const uint32_t exponent = 0x7f800000; /* all ones in NaN and infinity */
    uint32_t bad = 0;
#pragma omp parallel for simd schedule(static) reduction(| : bad) if (count >= PARALLEL_LEAST)
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

/* Fixed pieces, added in order: the same bits on any number of threads. */
double sgd_square_sum(const float *weight, size_t count) {
    double sums[SQUARE_PIECES];
#pragma omp parallel for schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t piece = 0; piece < SQUARE_PIECES; piece++) {
        double sum = 0;
        for (size_t i = count * piece / SQUARE_PIECES; i < count * (piece + 1) / SQUARE_PIECES; i++)
            sum += (double)weight[i] * (double)weight[i];
        sums[piece] = sum;
    }
    double all = 0;
    for (size_t piece = 0; piece < SQUARE_PIECES; piece++)
        all += sums[piece];
    return all;
}
