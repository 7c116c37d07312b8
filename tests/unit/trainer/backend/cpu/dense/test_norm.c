#include "tests/support/loop_data.h"
#include "tests/support/unit.h"
#include "trainer/backend/cpu/dense/norm.h"

/* Factors of batch norm from batches and from running statistics, against mean and variance in two
 * passes over double. Three things are at stake: formulas, digits that a one-pass variance could
 * lose, and the layout of the scratch. The loops have their own test (kernels/test_loop_norm.c). */

/* 19 channels leave a partial vector on every instruction set. */
enum { CHANNELS = 19, ROWS_MOST = 200 };
static const double EPSILON = 1e-3, MOMENTUM = 0.25;

/* A norm with all of its memory. The running statistics begin with 10 and 20, far from those of the
 * batch. X is owned, like the scratch. The branch points into the struct, so it must not be
 * copied. */
struct norm {
    struct cpu cpu;
    struct norm_size size;
    struct norm_branch branch;
    float *x, *gamma, *beta;
    float mean[CHANNELS], variance[CHANNELS], saved_mean[CHANNELS], saved_invstd[CHANNELS];
    char *scratch;
};

/* The scratch is filled with other values, as it is shared by operators in a step. Weights and
 * biases are random, so scale and shift differ in every channel. */
static void norm_open(struct norm *n, size_t rows, int threads) {
    memset(n, 0, sizeof(*n));
    n->cpu = (struct cpu){.threads = threads, .loops = loops_best()};
    n->size = (struct norm_size){.elem = ELEM_F32,
                                 .rows = rows,
                                 .channels = CHANNELS,
                                 .epsilon = EPSILON,
                                 .momentum = MOMENTUM};
    n->x = loop_values(rows * CHANNELS, ELEM_F32, 2, 1);
    n->gamma = loop_values(CHANNELS, ELEM_F32, 0, 2);
    n->beta = loop_values(CHANNELS, ELEM_F32, 0, 3);
    n->scratch =
        loop_values(norm_forward_scratch(&n->cpu, CHANNELS) / sizeof(float) + 16, ELEM_F32, 0, 4);
    for (size_t c = 0; c < CHANNELS; c++) {
        n->mean[c] = 10;
        n->variance[c] = 20;
    }
    n->branch = (struct norm_branch){.x = n->x,
                                     .gamma = n->gamma,
                                     .beta = n->beta,
                                     .mean = n->mean,
                                     .variance = n->variance,
                                     .saved_mean = n->saved_mean,
                                     .saved_invstd = n->saved_invstd};
    norm_forward_place(&n->cpu, CHANNELS, n->scratch, 0, &n->branch);
}

/* Everything else is in the struct. A struct is used once. */
static void norm_done(struct norm *n) {
    free(n->x);
    free(n->gamma);
    free(n->beta);
    free(n->scratch);
}

/* In double, which is exact enough for all rows here. Rows are added in order. */
static double mean_of(const struct norm *n, size_t c) {
    double sum = 0;
    for (size_t row = 0; row < n->size.rows; row++)
        sum += (double)n->x[row * CHANNELS + c];
    return sum / (double)n->size.rows;
}

/* The biased variance. It is what factors use; the running average takes the unbiased one. */
static double variance_of(const struct norm *n, size_t c) {
    double sum = 0, mean = mean_of(n, c);
    for (size_t row = 0; row < n->size.rows; row++)
        sum += pow((double)n->x[row * CHANNELS + c] - mean, 2);
    return sum / (double)n->size.rows;
}

/* The bound of the shift grows with the terms that cancel in it. In double up to the last step,
 * factors are nearly exact. It is also used for factors from running statistics. */
static void check_factors(const struct norm *n, size_t c, double mean, double invstd) {
    double scale = (double)n->gamma[c] * invstd;
    CU_ASSERT_DOUBLE_EQUAL((double)n->branch.scale[c], scale, 2e-5 * fabs(scale));
    CU_ASSERT_DOUBLE_EQUAL((double)n->branch.shift[c], (double)n->beta[c] - mean * scale,
                           1e-5 * (1 + fabs(mean * scale)));
}

/* ROWS 1 has no unbiased variance: the biased one must be taken. Saved values are compared more
 * strictly than running ones, which are rounded twice. Momentum is the weight of the new value. */
static void check_batch(size_t rows, int threads) {
    struct norm n;
    norm_open(&n, rows, threads);
    norm_use_batch(&n.cpu, &n.size, &n.branch, n.scratch);
    for (size_t c = 0; c < CHANNELS; c++) {
        double mean = mean_of(&n, c), variance = variance_of(&n, c);
        double invstd = 1 / sqrt(variance + EPSILON);
        double unbiased = rows > 1 ? variance * (double)rows / ((double)rows - 1) : variance;
        CU_ASSERT_DOUBLE_EQUAL((double)n.saved_mean[c], mean, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL((double)n.saved_invstd[c], invstd, 1e-5 * invstd);
        CU_ASSERT_DOUBLE_EQUAL((double)n.mean[c], 10 + MOMENTUM * (mean - 10), 1e-5);
        CU_ASSERT_DOUBLE_EQUAL((double)n.variance[c], 20 + MOMENTUM * (unbiased - 20), 1e-5);
        check_factors(&n, c, mean, invstd);
    }
    norm_done(&n);
}

/* Numbers of rows on both sides of a block, for one to three threads. The result must not depend on
 * the number of threads. */
static void statistics_are_those_of_the_batch(void) {
    static const size_t rows[] = {1, 2, 3, 33, ROWS_MOST};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int threads = 1; threads <= 3; threads++)
            check_batch(rows[i], threads);
}

/* A first row far off (the sums' centre), a channel of one value, and one with a NaN. NaN stays in
 * its channel, and a constant channel has a variance of exactly 0. Sums are taken around the first
 * row at first; in channel 3 that is an outlier, so they have to be taken again around the mean.
 * The NaN is in a row of its own, away from the first one. */
static void statistics_keep_their_digits(void) {
    struct norm n;
    norm_open(&n, ROWS_MOST, 2);
    n.x[3] = 4e4F;
    for (size_t row = 0; row < ROWS_MOST; row++)
        n.x[row * CHANNELS + 5] = 1234.5F;
    n.x[7 * CHANNELS + 8] = NAN;
    norm_use_batch(&n.cpu, &n.size, &n.branch, n.scratch);
    CU_ASSERT_DOUBLE_EQUAL((double)n.saved_invstd[3], 1 / sqrt(variance_of(&n, 3) + EPSILON),
                           1e-5 * (double)n.saved_invstd[3]);
    CU_ASSERT_DOUBLE_EQUAL((double)n.saved_mean[3], mean_of(&n, 3), 1e-3);
    CU_ASSERT_EQUAL(n.saved_mean[5], 1234.5F);
    CU_ASSERT_DOUBLE_EQUAL((double)n.saved_invstd[5], 1 / sqrt(EPSILON), 1e-4);
    for (size_t c = 0; c < CHANNELS; c++)
        CU_ASSERT_EQUAL(isnan(n.saved_mean[c]) != 0, c == 8);
    norm_done(&n);
}

/* All but one row lie around 1001, the first one at 1000. The variance is about 0.005; sums around
 * a value that is 1 away would lose digits of it. */
static void a_first_row_far_off_is_not_what_sums_are_taken_around(void) {
    struct norm n;
    norm_open(&n, ROWS_MOST, 1);
    for (size_t row = 0; row < ROWS_MOST; row++)
        n.x[row * CHANNELS + 3] = row == 0 ? 1000 : 1001 + 0.001F * (float)(row % 5);
    norm_use_batch(&n.cpu, &n.size, &n.branch, n.scratch);
    double expected = 1 / sqrt(variance_of(&n, 3) + EPSILON);
    CU_ASSERT_DOUBLE_EQUAL((double)n.saved_invstd[3], expected, 2e-5 * expected);
    norm_done(&n);
}

/* Inference of a single batch, for example, keeps no statistics; factors must not change by that.
 * Pointers to results may each be NULL. Factors are compared by their bits with those of a norm
 * that keeps everything. */
static void what_nobody_wants_is_left_out(void) {
    struct norm n, all;
    norm_open(&n, 33, 1);
    norm_open(&all, 33, 1);
    n.branch.mean = n.branch.variance = n.branch.saved_mean = n.branch.saved_invstd = NULL;
    norm_use_batch(&n.cpu, &n.size, &n.branch, n.scratch);
    norm_use_batch(&all.cpu, &all.size, &all.branch, all.scratch);
    CU_ASSERT_EQUAL(memcmp(n.branch.scale, all.branch.scale, CHANNELS * sizeof(float)), 0);
    CU_ASSERT_EQUAL(memcmp(n.branch.shift, all.branch.shift, CHANNELS * sizeof(float)), 0);
    norm_done(&n);
    norm_done(&all);
}

/* Evaluation must leave the running statistics alone. No row is read. 10 and 20 are the values that
 * norm_open() set. */
static void running_statistics_make_the_same_factors(void) {
    struct norm n;
    norm_open(&n, 3, 1);
    norm_use_running(&n.size, &n.branch);
    for (size_t c = 0; c < CHANNELS; c++) {
        check_factors(&n, c, 10, 1 / sqrt(20 + EPSILON));
        CU_ASSERT(n.mean[c] == 10 && n.variance[c] == 20);
    }
    norm_done(&n);
}

/* Rows of factors lie apart from each other and in the scratch. Both directions and both branches;
 * addresses are compared with the layout that norm.c describes. Numbers of channels lie on both
 * sides of a whole vector. Places must not overlap, and the scratch must end with the last of
 * them. */
static void branches_have_places_of_their_own(void) {
    const struct cpu cpu = {.threads = 3};
    const size_t channels[] = {1, 16, 17, 64};
    static char memory[1 << 16];
    for (size_t i = 0; i < 4; i++) {
        struct norm_branch forward[2] = {{0}};
        struct norm_grad_branch grad[2] = {{0}};
        float *places[10], *first = (float *)(void *)memory;
        size_t width = norm_row_bytes(channels[i]) / sizeof(float);
        CU_ASSERT(width >= channels[i] && width < channels[i] + 16 && width % 16 == 0);
        size_t count = 0;
        for (int k = 0; k < 2; k++) {
            norm_forward_place(&cpu, channels[i], memory, k, &forward[k]);
            places[count++] = forward[k].scale;
            places[count++] = forward[k].shift;
        }
        first += reduce_scratch(&cpu, channels[i], 2) / sizeof(float);
        for (size_t k = 0; k < count; k++)
            CU_ASSERT_PTR_EQUAL(places[k], first + k * width);
        CU_ASSERT_EQUAL(norm_forward_scratch(&cpu, channels[i]),
                        reduce_scratch(&cpu, channels[i], 2) + 4 * norm_row_bytes(channels[i]));
        first = (float *)(void *)memory + reduce_scratch(&cpu, channels[i], 3) / sizeof(float);
        count = 0;
        for (int k = 0; k < 2; k++) {
            norm_grad_place(&cpu, channels[i], memory, k, &grad[k]);
            float *own[] = {grad[k].scale, grad[k].shift, grad[k].a, grad[k].b, grad[k].c};
            for (int place = 0; place < 5; place++)
                places[count++] = own[place];
        }
        for (size_t k = 0; k < count; k++)
            CU_ASSERT_PTR_EQUAL(places[k], first + k * width);
        CU_ASSERT_EQUAL(norm_grad_scratch(&cpu, channels[i]),
                        reduce_scratch(&cpu, channels[i], 3) + 10 * norm_row_bytes(channels[i]));
    }
}

/* Whole operators, and gradients, are compared with the reference backend by tests/ops. */
UNIT_SUITE("cpu.norm", UNIT(statistics_are_those_of_the_batch), UNIT(statistics_keep_their_digits),
           UNIT(a_first_row_far_off_is_not_what_sums_are_taken_around),
           UNIT(what_nobody_wants_is_left_out), UNIT(running_statistics_make_the_same_factors),
           UNIT(branches_have_places_of_their_own))
