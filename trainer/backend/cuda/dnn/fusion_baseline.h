/* Fused or not, by time. Against a fused convolution stands its rival: what fusion would leave
 * instead, a convolution with less around it and passes of our own over its tensors. */
#ifndef TRAINER_BACKEND_CUDA_DNN_FUSION_BASELINE_H
#define TRAINER_BACKEND_CUDA_DNN_FUSION_BASELINE_H

#include "trainer/backend/cuda/dnn/dnn_graph.h"
#include "trainer/graph/tensor.h"

struct fusion_baseline {
    enum dnn_pattern pattern; /* of the convolution that is left */
    int inputs, outputs; /* tensors like the convolution's input, and like its output, that passes
                            read or write beside it */
    int passes;
};

/* NULL for a plain convolution: it has none. */
const struct fusion_baseline *fusion_baseline(enum dnn_pattern pattern);

/* What both were found to take. */
struct conv_times {
    float fused_ms, plain_ms; /* of the fused convolution; of the rival's convolution alone */
    double bytes_per_ms;      /* of a device's copy, reads and writes together */
};

/* Whether the fused form is the faster one; equal times count for it, as it also saves memory.
 * Passes of the rival take as long as a copy of their bytes, and a launch each. */
bool conv_fusion_pays(enum dnn_pattern pattern, const struct dnn_conv *conv, enum dtype type,
                      const struct conv_times *times);

#endif
