#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/columns.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 100003, CHANNELS = 19 };

static void sum(int threads, const float *x, size_t rows, float *sums) {
    struct columns c = {.loops = loops_best(),
                        .threads = threads,
                        .x = x,
                        .elem = ELEM_F32,
                        .rows = rows,
                        .channels = CHANNELS,
                        .sums = sums};
    c.partial = malloc(columns_scratch(rows, CHANNELS) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c.partial);
    columns_run(&c);
    free(c.partial);
}

/* A hundred thousand times 0.1, which one f32 sum gets wrong in the fourth digit. */
static void long_columns_keep_their_digits_on_any_number_of_threads(void) {
    float *x = malloc((size_t)ROWS * CHANNELS * sizeof(float));
    float sums[CHANNELS], others[CHANNELS];
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (size_t i = 0; i < (size_t)ROWS * CHANNELS; i++)
        x[i] = 0.1F * (float)(i % CHANNELS + 1);
    sum(1, x, ROWS, sums);
    for (size_t c = 0; c < CHANNELS; c++)
        CU_ASSERT_DOUBLE_EQUAL(sums[c], ROWS * (double)x[c], 1e-5 * ROWS * (double)x[c]);
    sum(3, x, ROWS, others);
    CU_ASSERT_EQUAL(memcmp(sums, others, sizeof(sums)), 0);
    free(x);
}

/* 256 rows are the most without partial sums. */
static void few_rows_are_one_sum_without_scratch(void) {
    float x[2 * CHANNELS], sums[CHANNELS];
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        x[i] = (float)i;
    CU_ASSERT_EQUAL(columns_scratch(256, CHANNELS), 0);
    CU_ASSERT(columns_scratch(257, CHANNELS) >= 2 * CHANNELS * sizeof(float));
    sum(4, x, 2, sums);
    for (size_t c = 0; c < CHANNELS; c++)
        CU_ASSERT_EQUAL(sums[c], (float)(2 * c + CHANNELS));
}

UNIT_SUITE("cpu.columns", UNIT(long_columns_keep_their_digits_on_any_number_of_threads),
           UNIT(few_rows_are_one_sum_without_scratch))
