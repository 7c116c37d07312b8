#include "trainer/optim/sgd.h"

#include <stdint.h>
#include <string.h>

enum { SQUARE_PIECES = 64, SQUARE_LANES = 8 };

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

/* Sums in several lanes, added at the end: with a single sum each addition would wait for the one
 * before. */
static double square_sum_of_piece(const float *weight, size_t count) {
    double sums[SQUARE_LANES] = {0}, all = 0;
    size_t whole = count / SQUARE_LANES * SQUARE_LANES;
    for (size_t i = 0; i < whole; i += SQUARE_LANES)
#pragma GCC unroll 8
        for (size_t lane = 0; lane < SQUARE_LANES; lane++)
            sums[lane] += (double)weight[i + lane] * (double)weight[i + lane];
    for (size_t i = whole; i < count; i++)
        sums[i - whole] += (double)weight[i] * (double)weight[i];
    for (size_t lane = 0; lane < SQUARE_LANES; lane++)
        all += sums[lane];
    return all;
}

/* Fixed pieces, added in order: the same bits with any number of threads. */
double sgd_square_sum(const float *weight, size_t count) {
    double sums[SQUARE_PIECES];
#pragma omp parallel for schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t piece = 0; piece < SQUARE_PIECES; piece++) {
        size_t begin = count * piece / SQUARE_PIECES, end = count * (piece + 1) / SQUARE_PIECES;
        sums[piece] = square_sum_of_piece(weight + begin, end - begin);
    }
    double all = 0;
    for (size_t piece = 0; piece < SQUARE_PIECES; piece++)
        all += sums[piece];
    return all;
}
