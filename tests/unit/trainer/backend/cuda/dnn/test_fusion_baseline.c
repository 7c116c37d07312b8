/* Fused or not, from tables of times. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/fusion_baseline.h"

/* 256 x 56 x 56 x 64 -> 256 channels in f16: 103 MB in, 411 MB out. */
static const struct dnn_conv wide = {.batch = 256,
                                     .height = 56,
                                     .width = 56,
                                     .in_channels = 64,
                                     .out_channels = 256,
                                     .kernel = {1, 1},
                                     .stride = 1,
                                     .groups = 1};
static const double in_bytes = 256.0 * 56 * 56 * 64 * 2, out_bytes = 256.0 * 56 * 56 * 256 * 2;
/* A copy at 4 TB/s. */
static const double rate = 4e9;

static bool pays(enum dnn_pattern pattern, double fused_ms, double plain_ms) {
    struct conv_times times = {
        .fused_ms = (float)fused_ms, .plain_ms = (float)plain_ms, .bytes_per_ms = rate};
    return conv_fusion_pays(pattern, &wide, DTYPE_F16, &times);
}

/* PATTERN pays up to the time of the plain convolution, BYTES at the copy's rate and a launch. */
static void check_border(enum dnn_pattern pattern, double bytes) {
    double border = 0.3 + bytes / rate + 0.002;
    CU_ASSERT(pays(pattern, border - 1e-4, 0.3));
    CU_ASSERT_FALSE(pays(pattern, border + 1e-4, 0.3));
}

static void passes_count_with_their_bytes(void) {
    check_border(DNN_FORWARD_BIAS, 2 * out_bytes);
    check_border(DNN_FORWARD_BIAS_RELU, 2 * out_bytes);
    check_border(DNN_FORWARD_BIAS_ADD_RELU, 3 * out_bytes);
    check_border(DNN_FORWARD_STATS, out_bytes);
    check_border(DNN_NORM_FORWARD_STATS, 2 * in_bytes);
    check_border(DNN_JOIN_FORWARD_STATS, 3 * in_bytes);
    check_border(DNN_DUAL_JOIN_FORWARD_STATS, 3 * in_bytes);
    check_border(DNN_NORM_GRAD_WEIGHT, 2 * in_bytes);
    check_border(DNN_GRAD_DATA_NORM, 3 * in_bytes);
    check_border(DNN_GRAD_DATA_ADD_NORM, 4 * in_bytes);
    check_border(DNN_GRAD_DATA_ADD_JOIN, 5 * in_bytes);
    check_border(DNN_GRAD_DATA_ADD_DUAL_JOIN, 5 * in_bytes);
}

static void a_plain_convolution_has_no_rival(void) {
    CU_ASSERT_PTR_NULL(fusion_baseline(DNN_FORWARD));
    CU_ASSERT_PTR_NULL(fusion_baseline(DNN_GRAD_DATA));
    CU_ASSERT_PTR_NULL(fusion_baseline(DNN_GRAD_WEIGHT));
    CU_ASSERT(pays(DNN_FORWARD, 100, 0.1));
}

static void the_rival_of_every_fused_pattern_has_less_around_it(void) {
    for (int p = DNN_FORWARD_STATS; p < DNN_PATTERN_COUNT; p++) {
        const struct fusion_baseline *rival = fusion_baseline((enum dnn_pattern)p);
        CU_ASSERT_PTR_NOT_NULL_FATAL(rival);
        CU_ASSERT((int)rival->pattern < p);
        CU_ASSERT(rival->inputs + rival->outputs > 0);
    }
}

static void strides_make_the_output_small(void) {
    struct dnn_conv strided = wide;
    strided.stride = 2;
    struct conv_times times = {.fused_ms = 0.3F + 0.0535F, .plain_ms = 0.3F, .bytes_per_ms = rate};
    /* A quarter of 2 * 411 MB at 4 TB/s is 0.0514 ms, and the launch. */
    CU_ASSERT_FALSE(conv_fusion_pays(DNN_FORWARD_BIAS, &strided, DTYPE_F16, &times));
    times.fused_ms = 0.3F + 0.0533F;
    CU_ASSERT(conv_fusion_pays(DNN_FORWARD_BIAS, &strided, DTYPE_F16, &times));
}

static void without_a_rate_everything_is_fused(void) {
    struct conv_times times = {.fused_ms = 9, .plain_ms = 1};
    CU_ASSERT(conv_fusion_pays(DNN_FORWARD_BIAS, &wide, DTYPE_F16, &times));
}

UNIT_SUITE("cuda.fusion_baseline", UNIT(passes_count_with_their_bytes),
           UNIT(a_plain_convolution_has_no_rival),
           UNIT(the_rival_of_every_fused_pattern_has_less_around_it),
           UNIT(strides_make_the_output_small), UNIT(without_a_rate_everything_is_fused))
