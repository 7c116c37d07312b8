#include "trainer/optim/optimizer.h"

#include <stdint.h>
#include <string.h>

/* The optimizers as the host runs them: after a step on ref and cpu, and on the shards of ranks
 * and parameter servers (trainer/shard). Backends with a device have kernels of their own over
 * the same bodies in math/optimizer.h.
 *
 * Elements do not depend on each other in an update, so threads may divide them in any way. Sums
 * are different: their rounding depends on the order, so they are computed in pieces with
 * bounds that follow from the count alone. */

/* Pieces of a sum, which is also the most threads that it can use, and partial sums in each piece.
 */
enum { SQUARE_PIECES = 64, SQUARE_LANES = 8 };

/* Below this many elements a parallel region costs more than it saves. */
enum { PARALLEL_LEAST = 16384 };

/* Names are those of --optimizer. An optimizer that keeps nothing of a kind needs no arena for
 * it. */
static const struct optimizer_row ROWS[OPTIMIZER_KINDS] = {
    [OPTIMIZER_SGD] = {.name = "sgd", .keeps_momentum = true},
    [OPTIMIZER_LARS] = {.name = "lars", .keeps_momentum = true, .epsilon = 1e-7F},
    [OPTIMIZER_LARC] = {.name = "larc", .keeps_momentum = true},
    [OPTIMIZER_ADAMW] = {.name = "adamw",
                         .keeps_momentum = true,
                         .keeps_second = true,
                         .epsilon = 1e-8F},
    [OPTIMIZER_ADAGRAD] = {.name = "adagrad", .keeps_second = true, .epsilon = 1e-10F},
};

const struct optimizer_row *optimizer_row(enum optimizer_kind kind) {
    return &ROWS[kind];
}

/* Returns element I of STATE. */
static inline struct optimizer_state at(struct optimizer_state state, size_t i) {
    return (struct optimizer_state){
        .momentum = state.momentum == NULL ? NULL : state.momentum + i,
        .second = state.second == NULL ? NULL : state.second + i,
        .average = state.average == NULL ? NULL : state.average + i,
    };
}

/* One loop for each optimizer: the compiler makes vectors of each. */
#define UPDATE_ALL(KIND)                                                                           \
    _Pragma("omp parallel for simd schedule(static) if (count >= PARALLEL_LEAST)") for (size_t i = \
                                                                                            0;     \
                                                                                        i < count; \
                                                                                        i++)       \
        optimizer_update(KIND, &s, &weight[i], at(state, i), gradient[i])

/* Takes a copy of the step, which the compiler can tell apart from the arenas: a store of a
 * weight cannot change it. */
static void update_all(const struct optimizer_step *step, float *weight,
                       struct optimizer_state state, const float *gradient, size_t count) {
    const struct optimizer_step s = *step;
    switch (s.kind) {
    case OPTIMIZER_LARS:
        UPDATE_ALL(OPTIMIZER_LARS);
        break;
    case OPTIMIZER_LARC:
        UPDATE_ALL(OPTIMIZER_LARC);
        break;
    case OPTIMIZER_ADAMW:
        UPDATE_ALL(OPTIMIZER_ADAMW);
        break;
    case OPTIMIZER_ADAGRAD:
        UPDATE_ALL(OPTIMIZER_ADAGRAD);
        break;
    default:
        UPDATE_ALL(OPTIMIZER_SGD);
    }
}

/* The moving average is updated in a pass of its own, once the weights are those of after the
 * step. Without an average it is NULL. */
void optimizer_apply(const struct optimizer_step *step, float *weight, struct optimizer_state state,
                     const float *gradient, size_t count) {
    update_all(step, weight, state, gradient, count);
    if (state.average == NULL)
        return;
    const float kept = step->average_kept;
#pragma omp parallel for simd schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t i = 0; i < count; i++)
        state.average[i] = optimizer_averaged(kept, state.average[i], weight[i]);
}

/* Called once for each bucket of gradients and micro-batch (app/step/host_step.c), in the
 * order of the micro-batches. */
void optimizer_accumulate(float *to, const float *from, size_t count) {
#pragma omp parallel for simd schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

void optimizer_divide(float *values, float by, size_t count) {
#pragma omp parallel for simd schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t i = 0; i < count; i++)
        values[i] /= by;
}

/* Looks at the bits rather than comparing values, and does not stop at the first bad one, so
 * that the loop has no branch. */
bool optimizer_finite(const float *values, size_t count) {
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

/* As square_sum_of_piece, for what the tensor's factor measures. A product of two floats is
 * exact in double, so only the additions round. */
static double measured_sum_of_piece(const struct optimizer_step *step, const float *weight,
                                    const float *gradient, size_t count) {
    double sums[SQUARE_LANES] = {0}, all = 0;
    for (size_t i = 0; i < count; i++) {
        double g = optimizer_measured(step, weight[i], gradient[i]);
        sums[i % SQUARE_LANES] += g * g;
    }
    for (size_t lane = 0; lane < SQUARE_LANES; lane++)
        all += sums[lane];
    return all;
}

double optimizer_measured_sum(const struct optimizer_step *step, const float *weight,
                              const float *gradient, size_t count) {
    double sums[SQUARE_PIECES], all = 0;
#pragma omp parallel for schedule(static) if (count >= PARALLEL_LEAST)
    for (size_t piece = 0; piece < SQUARE_PIECES; piece++) {
        /* A count below SQUARE_PIECES leaves some pieces empty, and their sums 0. */
        size_t begin = count * piece / SQUARE_PIECES, end = count * (piece + 1) / SQUARE_PIECES;
        sums[piece] = measured_sum_of_piece(step, weight + begin, gradient + begin, end - begin);
    }
    for (size_t piece = 0; piece < SQUARE_PIECES; piece++)
        all += sums[piece];
    return all;
}

float optimizer_tensor_factor(const struct optimizer_step *step, const float *weight,
                              const float *gradient, size_t count) {
    return optimizer_factor(step, optimizer_square_sum(weight, count),
                            optimizer_measured_sum(step, weight, gradient, count));
}

struct optimizer_state optimizer_state_at(struct optimizer_state state, size_t first) {
    return at(state, first);
}

/* Fixed pieces, added in order: the same bits with any number of threads. */
double optimizer_square_sum(const float *weight, size_t count) {
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

/* A group that adapts needs the norms of a whole tensor, so the slice must be that tensor. Ranks
 * that have only a part of it add up their sums first and call optimizer_apply (shard/shards.c). */
void optimizer_update_slice(const struct optimizer_step *step, const struct optimizer_group *group,
                            const struct optimizer_arenas *arenas, size_t first, size_t count) {
    struct optimizer_step own = optimizer_of_group(*step, *group);
    float *weight = arenas->weights + first;
    const float *gradient = arenas->gradients + first;
    if (group->adapts)
        own.factor = optimizer_tensor_factor(&own, weight, gradient, count);
    optimizer_apply(&own, weight, at(arenas->state, first), gradient, count);
}
