/* Loss gradients of one sampled anchor, and the divisor of their mean. The anchors are those of a
 * region proposal network. */
#ifndef CUDA_DETECT_RPN_SAMPLES_CUH
#define CUDA_DETECT_RPN_SAMPLES_CUH

#include "trainer/backend/cuda/kernels/detect/launch_rpn.h"
#include "trainer/backend/cuda/kernels/sum.cuh"
#include "trainer/math/detect_loss.h"
#include "trainer/math/match.h"

/* The number of sampled anchors, at least 1. All threads of the block must call it. */
static __device__ double loss_divisor(const struct rpn_loss_args &args) {
    const int slots = args.samples * args.rpn.pictures;
    double found = 0;
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += THREADS)
        found += args.index[i] >= 0;
    found = sum_over_block(found);
    return args.fixed_count ? static_cast<double>(slots) : found > 0 ? found : 1;
}

/* Returns the factor of the gradients. All threads of the block must call it. */
static __device__ double loss_scale_of(const struct rpn_loss_args &args, float gradient_scale,
                                       const float *loss_scale) {
    return static_cast<double>(gradient_scale) / loss_divisor(args) *
           static_cast<double>(loss_scale != nullptr ? *loss_scale : 1.0f);
}

/* The row of slot I's anchor in its level's matrices. */
static __device__ size_t loss_row(const struct rpn_loss_args &args, int i, int level) {
    const struct anchor_level *anchors = &args.rpn.grid.level[level];
    return static_cast<size_t>(i / args.samples) *
               static_cast<size_t>(anchor_level_count(anchors)) +
           static_cast<size_t>(args.index[i] - anchors->first);
}

/* Gradients of the loss by the logit and by delta K of slot I, in the level of logits[0] and
 * deltas[0]. */
static __device__ double loss_logit_gradient(const struct rpn_loss_args &args, int i, size_t row) {
    return logit_loss_gradient(static_cast<double>(args.logits[0][row]), args.label[i]);
}
static __device__ double loss_delta_gradient(const struct rpn_loss_args &args, int i, size_t row,
                                             int k) {
    if (args.label[i] != MATCH_OBJECT)
        return 0;
    return smooth_l1_gradient(static_cast<double>(args.deltas[0][row * 4 + k]) -
                                  static_cast<double>(args.target[i * 4 + k]),
                              static_cast<double>(args.beta));
}

#endif
