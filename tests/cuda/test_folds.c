/* Kernels, run on the host, that fold norms into weights and their scales into gradients. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/math/f16.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Expected values by hand, for scales 2 / 2 and -3 / 0.5: into f32 without the padding, and in
 * place in f16. */
static void a_norms_scale_goes_into_a_gradient_in_either_type(void) {
    static const float gamma[2] = {2, -3}, variance[2] = {3.75F, 0};
    uint16_t padded[2 * 2 * 2], dense[2 * 2];
    float wide[2 * 2];
    struct fold_args args = {.gamma = gamma,
                             .variance = variance,
                             .packed = padded,
                             .outputs = 2,
                             .taps = 2,
                             .from_width = 1,
                             .to_width = 2,
                             .epsilon = 0.25F};
    static const float values[] = {1, -2, 3, 0.5F}, expected[] = {1, -2, -18, -3};
    for (int i = 0; i < 4; i++) {
        dense[i] = padded[2 * i] = f16_from_f32(values[i]);
        padded[2 * i + 1] = f16_from_f32(99);
    }
    CU_ASSERT_EQUAL(launch_unfold(NULL, DTYPE_F16, &args, wide), cudaSuccess);
    CU_ASSERT_NOT_EQUAL(launch_unfold(NULL, DTYPE_F16, &args, padded), cudaSuccess);
    args.packed = dense;
    args.to_width = 1;
    CU_ASSERT_EQUAL(launch_unfold(NULL, DTYPE_F16, &args, dense), cudaSuccess);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(wide[i], expected[i]);
        CU_ASSERT_EQUAL(dense[i], f16_from_f32(expected[i]));
    }
}

/* Expected values by hand: two outputs of two taps, one channel padded to two. */
static void a_norm_is_folded_into_weights_and_a_bias(void) {
    static const float w[2 * 2] = {1, -2, 3, 0.5F}, bias[2] = {7, 8};
    static const float gamma[2] = {2, -3}, variance[2] = {3.75F, 0}, mean[2] = {10, 1};
    static const float beta[2] = {0.5F, 0.25F};
    float packed[2 * 2 * 2], packed_bias[2];
    struct fold_args args = {.w = w,
                             .bias = bias,
                             .packed = packed,
                             .packed_bias = packed_bias,
                             .outputs = 2,
                             .taps = 2,
                             .from_width = 1,
                             .to_width = 2,
                             .epsilon = 0.25F};
    CU_ASSERT_EQUAL(launch_fold(NULL, DTYPE_F32, &args, 1), cudaSuccess);
    static const float plain[] = {1, 0, -2, 0, 3, 0, 0.5F, 0};
    CU_ASSERT_EQUAL(memcmp(packed, plain, sizeof(packed)), 0);
    CU_ASSERT_EQUAL(memcmp(packed_bias, bias, sizeof(packed_bias)), 0);
    args.gamma = gamma, args.beta = beta, args.mean = mean, args.variance = variance;
    CU_ASSERT_EQUAL(launch_fold(NULL, DTYPE_F32, &args, 1), cudaSuccess);
    /* The scales are 2 / 2 and -3 / 0.5. */
    static const float folded[] = {1, 0, -2, 0, -18, 0, -3, 0}, left[] = {-9.5F, 6.25F};
    for (int i = 0; i < 8; i++)
        CU_ASSERT(packed[i] == folded[i]);
    CU_ASSERT_EQUAL(memcmp(packed_bias, left, sizeof(packed_bias)), 0);
}

/* The folds differ in size, and one is larger than its blocks cover at once: each gives the same
 * result as alone. */
static void folds_of_one_launch_come_out_as_each_alone(void) {
    enum { FOLDS = LAUNCH_FOLDS_MAX, OUTPUTS = 3, WIDTH = 2, TAPS_MAX = 6000 };
    static float w[OUTPUTS * TAPS_MAX + FOLDS];
    static const float gamma[OUTPUTS] = {2, -3, 0.5F}, variance[OUTPUTS] = {3.75F, 0, 1};
    static const float mean[OUTPUTS] = {10, 1, 0}, beta[OUTPUTS] = {0.5F, 0.25F, -1};
    static float together[FOLDS][OUTPUTS * FOLDS * WIDTH], large[OUTPUTS * TAPS_MAX * WIDTH];
    static float alone[OUTPUTS * TAPS_MAX * WIDTH];
    static float biases[FOLDS][OUTPUTS], bias[OUTPUTS];
    struct fold_args folds[FOLDS + 1];
    for (int i = 0; i < OUTPUTS * TAPS_MAX + FOLDS; i++)
        w[i] = (float)(i % 251) - 100;
    for (int i = 0; i < FOLDS; i++)
        folds[i] = (struct fold_args){.w = w + i,
                                      .gamma = gamma,
                                      .beta = beta,
                                      .mean = mean,
                                      .variance = variance,
                                      .packed = i == 0 ? large : together[i],
                                      .packed_bias = i % 2 == 0 ? biases[i] : NULL,
                                      .outputs = OUTPUTS,
                                      .taps = (size_t)(i == 0 ? TAPS_MAX : i),
                                      .from_width = 1,
                                      .to_width = WIDTH,
                                      .epsilon = 0.25F};
    folds[FOLDS] = folds[0];
    CU_ASSERT_EQUAL(launch_fold(NULL, DTYPE_F32, folds, FOLDS), cudaSuccess);
    for (int i = 0; i < FOLDS; i++) {
        struct fold_args one = folds[i];
        const size_t bytes = one.outputs * one.taps * WIDTH * sizeof(float);
        one.packed = alone;
        one.packed_bias = bias;
        CU_ASSERT_EQUAL(launch_fold(NULL, DTYPE_F32, &one, 1), cudaSuccess);
        CU_ASSERT_EQUAL(memcmp(folds[i].packed, alone, bytes), 0);
        CU_ASSERT_EQUAL(memcmp(biases[i], bias, sizeof(bias)) == 0, i % 2 == 0);
    }
    CU_ASSERT_NOT_EQUAL(launch_fold(NULL, DTYPE_F32, folds, FOLDS + 1), cudaSuccess);
    CU_ASSERT_NOT_EQUAL(launch_fold(NULL, DTYPE_F32, folds, 0), cudaSuccess);
}

/* A constant channel has no variance, and the epsilon of a detectron2 norm is negligible. */
static void a_norm_without_variance_folds_into_numbers_that_f16_has(void) {
    static const float w[4] = {1, -2, 1e-6F, 0}, gamma[4] = {1, 1, 1, 1};
    static const float variance[4] = {0, 0, 0, 0}, mean[4] = {1, -1, 1e-6F, NAN}, beta[4] = {0};
    uint16_t packed[4], packed_bias[4];
    struct fold_args args = {.w = w,
                             .gamma = gamma,
                             .beta = beta,
                             .mean = mean,
                             .variance = variance,
                             .packed = packed,
                             .packed_bias = packed_bias,
                             .outputs = 4,
                             .taps = 1,
                             .from_width = 1,
                             .to_width = 1,
                             .epsilon = 1e-12F};
    static const float folded[4] = {65504, -65504, 1, 0}, left[3] = {-65504, 65504, -1};
    CU_ASSERT_EQUAL(launch_fold(NULL, DTYPE_F16, &args, 1), cudaSuccess);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(packed[i], f16_from_f32(folded[i]));
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(packed_bias[i], f16_from_f32(left[i]));
    CU_ASSERT(isnan(f16_to_f32(packed_bias[3])));
}

UNIT_SUITE("cuda.folds", UNIT(a_norm_is_folded_into_weights_and_a_bias),
           UNIT(folds_of_one_launch_come_out_as_each_alone),
           UNIT(a_norm_without_variance_folds_into_numbers_that_f16_has),
           UNIT(a_norms_scale_goes_into_a_gradient_in_either_type))
