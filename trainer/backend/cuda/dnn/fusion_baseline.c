#include "trainer/backend/cuda/dnn/fusion_baseline.h"

#include <stddef.h>

/* Overhead of a launch, in ms. */
#define LAUNCH_MS 0.002

/* A bias or a frozen norm is a pass over the output; statistics are one that reads it. A preceding
 * norm is a pass over the input, written to memory, and so is a join, which also reads the
 * summand. A data gradient is followed by the pass that masks and sums it, which reads everything
 * the mask depends on. */
static const struct fusion_baseline baselines[DNN_PATTERN_COUNT] = {
    [DNN_FORWARD_STATS] = {DNN_FORWARD, 0, 1, 1},
    [DNN_NORM_FORWARD_STATS] = {DNN_FORWARD_STATS, 2, 0, 1},
    [DNN_JOIN_FORWARD_STATS] = {DNN_FORWARD_STATS, 3, 0, 1},
    [DNN_DUAL_JOIN_FORWARD_STATS] = {DNN_FORWARD_STATS, 3, 0, 1},
    [DNN_FORWARD_BIAS] = {DNN_FORWARD, 0, 2, 1},
    [DNN_FORWARD_BIAS_RELU] = {DNN_FORWARD, 0, 2, 1},
    [DNN_FORWARD_BIAS_ADD_RELU] = {DNN_FORWARD, 0, 3, 1},
    [DNN_NORM_GRAD_WEIGHT] = {DNN_GRAD_WEIGHT, 2, 0, 1},
    [DNN_GRAD_DATA_NORM] = {DNN_GRAD_DATA, 3, 0, 1},
    [DNN_GRAD_DATA_ADD_NORM] = {DNN_GRAD_DATA, 4, 0, 1},
    [DNN_GRAD_DATA_ADD_JOIN] = {DNN_GRAD_DATA, 5, 0, 1},
    [DNN_GRAD_DATA_ADD_DUAL_JOIN] = {DNN_GRAD_DATA, 5, 0, 1},
};

const struct fusion_baseline *fusion_baseline(enum dnn_pattern pattern) {
    return baselines[pattern].passes > 0 ? &baselines[pattern] : NULL;
}

static double input_count(const struct dnn_conv *c) {
    return (double)(c->batch * c->height * c->width * c->in_channels);
}

static double output_count(const struct dnn_conv *c) {
    return (double)(c->batch * dnn_conv_output(c, 0) * dnn_conv_output(c, 1) * c->out_channels);
}

bool conv_fusion_pays(enum dnn_pattern pattern, const struct dnn_conv *conv, enum dtype type,
                      const struct conv_times *times) {
    const struct fusion_baseline *baseline = fusion_baseline(pattern);
    if (baseline == NULL || times->bytes_per_ms <= 0)
        return true;
    double elements = baseline->inputs * input_count(conv) + baseline->outputs * output_count(conv);
    double passes_ms = elements * (double)dtype_size(type) / times->bytes_per_ms;
    return (double)times->fused_ms <=
           (double)times->plain_ms + passes_ms + baseline->passes * LAUNCH_MS;
}
