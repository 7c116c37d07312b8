/* Sums of which only half the bytes travel, between ranks that are threads. */
#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/comm/half.h"
#include "trainer/comm/half_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const enum comm_type TYPES[] = {COMM_F32_AS_F16, COMM_F32_AS_BF16};

static float rounded(float value, enum comm_type type) {
    uint16_t half;
    half_narrow(&half, &value, 1, type);
    half_widen(&value, &half, 1, type);
    return value;
}

/* What every rank gets. */
static float sum_of(const float *values, int ranks, enum comm_type type) {
    volatile float sum = rounded(values[0], type);
    float least = 1;
    while (least < (float)ranks)
        least *= 2;
    for (int rank = 1; rank < ranks; rank++)
        sum = sum + rounded(values[rank], type);
    return ranks == 2 ? sum : rounded(sum / least, type) * least;
}

static float value_of(int rank, size_t i) {
    static const float sizes[] = {1, 1e-4F, 1e-7F, 300};
    const float value = (float)((i * 2654435761u + (size_t)rank * 40503u) % 100003) * 1e-3F - 50;
    return value * sizes[(i + (size_t)rank) % 4] / (float)(rank + 1);
}

static bool sums_right(struct comm *c, size_t count, enum comm_type type) {
    float *values = malloc((count + 1) * sizeof(*values)), of[RANK_THREADS_MAX];
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(comm_rank(c), i);
    bool ok = comm_sum(c, values, count, type, NULL) == 0;
    for (size_t i = 0; ok && i < count; i++) {
        for (int rank = 0; rank < comm_size(c); rank++)
            of[rank] = value_of(rank, i);
        const float expected = sum_of(of, comm_size(c), type);
        ok = memcmp(&values[i], &expected, sizeof(expected)) == 0;
    }
    free(values);
    return ok;
}

static bool sum_all_sizes(struct comm *c, void *context) {
    static const size_t counts[] = {0, 1, 2, 7, 1000, 100003, HALF_SUM_ROUND + 5};
    (void)context;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int k = 0; k < (counts[i] < HALF_SUM_ROUND ? 2 : 1); k++)
            if (!sums_right(c, counts[i], TYPES[k]))
                return false;
    return true;
}

static void all_ranks_get_the_bits_of_a_rounded_sum_in_order(void) {
    for (int ranks = 2; ranks <= 4; ranks++)
        CU_ASSERT_EQUAL(rank_threads_all(ranks, sum_all_sizes, NULL), ranks);
    CU_ASSERT_EQUAL(rank_threads_all(RANK_THREADS_MAX, sum_all_sizes, NULL), RANK_THREADS_MAX);
}

/* Whole numbers that both types hold. */
static bool whole_numbers(struct comm *c, void *context) {
    enum { COUNT = 5000 };
    float values[COUNT];
    bool ok = true;
    (void)context;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = (float)(i % 17 + comm_rank(c) - 8);
        ok = ok && comm_sum(c, values, COUNT, TYPES[k], NULL) == 0;
        const int ranks = comm_size(c);
        for (int i = 0; ok && i < COUNT; i++)
            ok = values[i] == (float)(ranks * (i % 17 - 8) + ranks * (ranks - 1) / 2);
    }
    return ok;
}

static void small_whole_numbers_are_summed_exactly(void) {
    for (int ranks = 2; ranks <= 4; ranks++)
        CU_ASSERT_EQUAL(rank_threads_all(ranks, whole_numbers, NULL), ranks);
}

static bool near(float value, float expected, float error) {
    return fabsf(value - expected) <= error * expected;
}

/* A sum beyond f16 of values within it; then one rank's value that is beyond. */
static bool large_values(struct comm *c, void *context) {
    const float ranks = (float)comm_size(c);
    float f16[] = {60000, comm_rank(c) == 1 ? 70000 : 1, comm_rank(c) == 0 ? -65520 : 1};
    float bf16[] = {60000, 1e38F, 3e38F};
    (void)context;
    if (comm_sum(c, f16, 3, COMM_F32_AS_F16, NULL) != 0 ||
        comm_sum(c, bf16, 3, COMM_F32_AS_BF16, NULL) != 0)
        return false;
    return near(f16[0], 60000 * ranks, 0x1p-10F) && isinf(f16[1]) && f16[1] > 0 && isinf(f16[2]) &&
           f16[2] < 0 && near(bf16[0], 60000 * ranks, 0x1p-7F) &&
           (ranks > 3 || near(bf16[1], 1e38F * ranks, 0x1p-7F)) && isinf(bf16[2]);
}

static void only_a_rank_s_own_value_overflows(void) {
    for (int ranks = 2; ranks <= 4; ranks++)
        CU_ASSERT_EQUAL(rank_threads_all(ranks, large_values, NULL), ranks);
}

static bool not_finite(struct comm *c, void *context) {
    const int rank = comm_rank(c), last = comm_size(c) - 1;
    (void)context;
    for (int k = 0; k < 2; k++) {
        float values[] = {rank == last ? NAN : 1, rank == 0 ? INFINITY : 1,
                          rank == 0      ? INFINITY
                          : rank == last ? -INFINITY
                                         : 1,
                          1};
        if (comm_sum(c, values, 4, TYPES[k], NULL) != 0 || !isnan(values[0]) || !isinf(values[1]) ||
            !isnan(values[2]) || values[3] != (float)comm_size(c))
            return false;
    }
    return true;
}

static void what_is_not_finite_is_seen_by_all_ranks(void) {
    for (int ranks = 2; ranks <= 4; ranks++)
        CU_ASSERT_EQUAL(rank_threads_all(ranks, not_finite, NULL), ranks);
}

/* The smallest values of f16, those that round to zero, and subnormals of f32, which bf16 has. */
static bool tiny_values(struct comm *c, void *context) {
    const float ranks = (float)comm_size(c);
    float f16[] = {0x1p-24F, 0x1p-20F, 0x1p-25F, -0x1p-26F}, bf16[] = {0x1p-130F};
    (void)context;
    return comm_sum(c, f16, 4, COMM_F32_AS_F16, NULL) == 0 &&
           comm_sum(c, bf16, 1, COMM_F32_AS_BF16, NULL) == 0 && f16[0] == 0x1p-24F * ranks &&
           f16[1] == 0x1p-20F * ranks && f16[2] == 0 && f16[3] == 0 && bf16[0] == 0x1p-130F * ranks;
}

static void subnormals_are_kept(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, tiny_values, NULL), 2);
    CU_ASSERT_EQUAL(rank_threads_all(4, tiny_values, NULL), 4);
}

static bool other_types(struct comm *c, void *context) {
    struct error err = {0};
    float value = 1;
    (void)context;
    return comm_sum(c, &value, 1, TYPES[comm_rank(c)], &err) != 0 &&
           strstr(err.text, "ranks make different calls") != NULL;
}

static void ranks_with_other_types_are_told(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, other_types, NULL), 2);
}

UNIT_SUITE("comm.half_sum", UNIT(all_ranks_get_the_bits_of_a_rounded_sum_in_order),
           UNIT(small_whole_numbers_are_summed_exactly), UNIT(only_a_rank_s_own_value_overflows),
           UNIT(what_is_not_finite_is_seen_by_all_ranks), UNIT(subnormals_are_kept),
           UNIT(ranks_with_other_types_are_told))
