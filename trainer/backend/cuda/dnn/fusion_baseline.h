/* Comparison of a fused convolution with its unfused baseline: a convolution with less fused around
 * it and separate passes over its tensors by own kernels. */
#ifndef TRAINER_BACKEND_CUDA_DNN_FUSION_BASELINE_H
#define TRAINER_BACKEND_CUDA_DNN_FUSION_BASELINE_H

#include "trainer/backend/cuda/dnn/dnn_pattern.h"
#include "trainer/graph/tensor.h"

struct fusion_baseline {
    enum dnn_pattern pattern; /* of the remaining convolution */
    int inputs, outputs; /* number of tensors like the convolution's input, and like its output,
                          * that the separate passes read or write */
    int passes;
};

/* Returns NULL for a plain convolution, which has none. */
const struct fusion_baseline *fusion_baseline(enum dnn_pattern pattern);

/* Measured times of both. */
struct conv_times {
    float fused_ms, plain_ms; /* of the fused convolution; of the baseline's convolution alone */
    double bytes_per_ms;      /* of a copy on the device, reads and writes together */
};

/* Returns true if the fused form is not slower; equal times favour it because it also saves
 * memory. A separate pass is assumed to take as long as a copy of its bytes, plus a launch. */
bool conv_fusion_pays(enum dnn_pattern pattern, const struct dnn_conv *conv, enum dtype type,
                      const struct conv_times *times);

#endif
