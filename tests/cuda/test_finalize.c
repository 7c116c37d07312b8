/* A norm's scale and bias as the convolution after it reads them, in the type of activations: for
 * channels that vary little they exceed f16's range, where infinity minus infinity would be NaN. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#include <math.h>

enum { CHANNELS = 5, ROWS = 16 };

static const float EPSILON = 1e-5F, F16_MOST = 65504;

/* Of each channel the one value that all its rows have, and what is wanted of it: 1 / sqrt(epsilon)
 * is 316.2, so that a gamma above 207.1 leaves f16. The last one is not finite. */
static const float value[CHANNELS] = {0.5F, 0.5F, -0.5F, 300, NAN};
static const float gamma_[CHANNELS] = {2, 250, -250, 250, 1};
static const float beta[CHANNELS] = {3, 3, 3, 3, 3};

struct finalized {
    float mean[CHANNELS], invstd[CHANNELS], running_mean[CHANNELS], running_variance[CHANNELS];
    float scale[CHANNELS], bias[CHANNELS]; /* as they were stored, in whatever type */
    float y[CHANNELS];                     /* of rows that have the channel's value */
};

static float widened(const void *from, enum dtype type, int i) {
    return type == DTYPE_F32    ? ((const float *)from)[i]
           : type == DTYPE_BF16 ? bf16_to_f32(((const uint16_t *)from)[i])
                                : f16_to_f32(((const uint16_t *)from)[i]);
}

static void put(void *to, enum dtype type, int i, float v) {
    if (type == DTYPE_F32)
        ((float *)to)[i] = v;
    else
        ((uint16_t *)to)[i] = type == DTYPE_BF16 ? bf16_from_f32(v) : f16_from_f32(v);
}

static struct finalized finalize(enum dtype type) {
    struct finalized f = {0};
    float sum[CHANNELS], square_sum[CHANNELS], scale[CHANNELS], bias[CHANNELS];
    float x[ROWS * CHANNELS], y[ROWS * CHANNELS];
    for (int i = 0; i < ROWS * CHANNELS; i++)
        put(x, type, i, value[i % CHANNELS]);
    for (int c = 0; c < CHANNELS; c++) {
        sum[c] = value[c] * ROWS;
        square_sum[c] = value[c] * value[c] * ROWS;
    }
    /* As sums round: the variance comes out below zero, far more than epsilon. */
    square_sum[3] = nextafterf(square_sum[3], 0);
    const struct norm_finalize_args args = {.sum = sum,
                                            .square_sum = square_sum,
                                            .gamma = gamma_,
                                            .beta = beta,
                                            .running_mean = f.running_mean,
                                            .running_variance = f.running_variance,
                                            .mean = f.mean,
                                            .invstd = f.invstd,
                                            .scale = scale,
                                            .bias = bias,
                                            .rows = ROWS,
                                            .channels = CHANNELS,
                                            .epsilon = EPSILON,
                                            .momentum = 0.5F};
    const struct norm_apply_args apply = {.x = x,
                                          .scale = scale,
                                          .bias = bias,
                                          .y = y,
                                          .rows = ROWS,
                                          .channels = CHANNELS,
                                          .chunks = 2};
    CU_ASSERT_EQUAL(launch_norm_finalize(NULL, type, &args), cudaSuccess);
    CU_ASSERT_EQUAL(launch_norm_apply(NULL, type, &apply), cudaSuccess);
    for (int c = 0; c < CHANNELS; c++) {
        f.scale[c] = widened(scale, type, c);
        f.bias[c] = widened(bias, type, c);
        f.y[c] = widened(y, type, (ROWS - 1) * CHANNELS + c);
    }
    return f;
}

/* What does not hang on the type. */
static void hold_statistics(const struct finalized *f) {
    for (int c = 0; c + 1 < CHANNELS; c++) {
        CU_ASSERT_EQUAL(f->mean[c], value[c]);
        CU_ASSERT_DOUBLE_EQUAL(f->invstd[c], 316.2278, 1e-3);
        CU_ASSERT_EQUAL(f->running_mean[c], value[c] / 2);
        CU_ASSERT_EQUAL(f->running_variance[c], 0);
    }
}

static void what_f16_cannot_hold_stays_finite(void) {
    const struct finalized f = finalize(DTYPE_F16);
    hold_statistics(&f);
    /* One that fits is as it was: 632.5 and 3 - 0.5 * 632.5, rounded to half a unit. */
    CU_ASSERT_EQUAL(f.scale[0], 632.5F);
    CU_ASSERT_DOUBLE_EQUAL(f.bias[0], 3 - 316.2278, 0.125);
    CU_ASSERT_EQUAL(f.scale[1], F16_MOST);
    CU_ASSERT_EQUAL(f.scale[2], -F16_MOST);
    CU_ASSERT_DOUBLE_EQUAL(f.bias[1], 3 - 0.5 * 79056.94, 16);
    CU_ASSERT_DOUBLE_EQUAL(f.bias[2], 3 - 0.5 * 79056.94, 16);
    CU_ASSERT_EQUAL(f.bias[3], -F16_MOST);
    /* The product is made in f32: 0.5 * 65504 - 39528 is below zero. */
    CU_ASSERT_EQUAL(f.y[1], 0);
    CU_ASSERT_EQUAL(f.y[2], 0);
    CU_ASSERT_FALSE(isnan(f.y[3]));
}

static void other_types_hold_it_as_it_is(void) {
    const struct finalized f = finalize(DTYPE_F32), b = finalize(DTYPE_BF16);
    hold_statistics(&f);
    hold_statistics(&b);
    for (int c = 1; c < 4; c++) {
        double scale = c == 2 ? -79056.94 : 79056.94, bias = 3 - (double)value[c] * scale;
        CU_ASSERT_DOUBLE_EQUAL(f.scale[c], scale, 0.01);
        CU_ASSERT_DOUBLE_EQUAL(f.bias[c], bias, fabs(bias) * 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(b.scale[c], scale, 79056.94 / 256);
        CU_ASSERT_DOUBLE_EQUAL(b.bias[c], bias, fabs(bias) / 256);
    }
    /* 0.5 * scale - bias cancels to beta but for the roundings of f32. */
    CU_ASSERT_DOUBLE_EQUAL(f.y[1], 3, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(f.y[2], 3, 0.01);
}

/* A run that has diverged must be seen to have. */
static void what_is_not_finite_is_not_hidden(void) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    for (int i = 0; i < 3; i++) {
        const struct finalized f = finalize(types[i]);
        CU_ASSERT(isnan(f.mean[CHANNELS - 1]));
        CU_ASSERT(isnan(f.scale[CHANNELS - 1]));
        CU_ASSERT(isnan(f.bias[CHANNELS - 1]));
        CU_ASSERT(isnan(f.y[CHANNELS - 1]));
    }
}

UNIT_SUITE("cuda.finalize", UNIT(what_f16_cannot_hold_stays_finite),
           UNIT(other_types_hold_it_as_it_is), UNIT(what_is_not_finite_is_not_hidden))
