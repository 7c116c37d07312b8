/* Losses of a region proposal network and their gradient. There are a few hundred sampled anchors a
 * picture, so one block sums them, in double and in a fixed order. The gradient is 0 except at
 * those anchors. */
#include "trainer/backend/cuda/kernels/detect/rpn_samples.cuh"
#include "trainer/graph/op_rpn.h"

/* Bytes moved: 44 per slot. */
static __global__ void rpn_loss_kernel(const __grid_constant__ struct rpn_loss_args args,
                                       float *losses) {
    const int slots = args.samples * args.rpn.pictures;
    const double all = loss_divisor(args), beta = static_cast<double>(args.beta);
    double sum[RPN_LOSSES] = {0, 0, 0, 0};
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += THREADS) {
        if (args.index[i] < 0)
            continue;
        const int level = anchor_level_of(&args.rpn.grid, args.index[i]);
        const size_t row = loss_row(args, i, level);
        sum[RPN_LOSS_SAMPLED] += 1;
        sum[RPN_LOSS_OBJECTNESS] +=
            logit_loss(static_cast<double>(args.logits[level][row]), args.label[i]) / all;
        if (args.label[i] != MATCH_OBJECT)
            continue;
        sum[RPN_LOSS_POSITIVES] += 1;
        for (int k = 0; k < 4; k++)
            sum[RPN_LOSS_BOX] += smooth_l1(static_cast<double>(args.deltas[level][row * 4 + k]) -
                                               static_cast<double>(args.target[i * 4 + k]),
                                           beta) /
                                 all;
    }
    for (int k = 0; k < RPN_LOSSES; k++) {
        double whole = sum_over_block(sum[k]);
        if (threadIdx.x == 0)
            losses[k] = static_cast<float>(whole);
    }
}

cudaError_t launch_rpn_loss(cudaStream_t stream, const struct rpn_loss_args *args, float *losses) {
    enqueue(rpn_loss_kernel, 1, THREADS, stream, *args, losses);
    return launch_status();
}

/* Bytes moved: both gradients. */
template <typename T>
static __global__ void rpn_loss_clear_kernel(T *dlogits, T *ddeltas, size_t anchors) {
    FOR_EACH_ITEM(i, anchors * 4) {
        if (i < anchors)
            dlogits[i] = narrow<T>(0);
        ddeltas[i] = narrow<T>(0);
    }
}

/* Bytes moved: 44 per slot, and five gradients of one. */
template <typename T>
static __global__ void rpn_loss_grad_kernel(const __grid_constant__ struct rpn_loss_args args,
                                            int level, T *dlogits, T *ddeltas, float gradient_scale,
                                            const float *loss_scale) {
    const int slots = args.samples * args.rpn.pictures;
    const double scale = loss_scale_of(args, gradient_scale, loss_scale);
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += THREADS) {
        if (args.index[i] < 0 || anchor_level_of(&args.rpn.grid, args.index[i]) != level)
            continue;
        const size_t row = loss_row(args, i, level);
        dlogits[row] = narrow<T>(static_cast<float>(scale * loss_logit_gradient(args, i, row)));
        for (int k = 0; k < 4; k++)
            ddeltas[row * 4 + k] =
                narrow<T>(static_cast<float>(scale * loss_delta_gradient(args, i, row, k)));
    }
}

cudaError_t launch_rpn_loss_grad(cudaStream_t stream, enum dtype type,
                                 const struct rpn_loss_args *args, int level, void *dlogits,
                                 void *ddeltas, float gradient_scale, const float *loss_scale) {
    const size_t anchors = static_cast<size_t>(anchor_level_count(&args->rpn.grid.level[level])) *
                           static_cast<size_t>(args->rpn.pictures);
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(rpn_loss_clear_kernel<T>, blocks_for(anchors * 4), THREADS, stream,
                static_cast<T *>(dlogits), static_cast<T *>(ddeltas), anchors);
        enqueue(rpn_loss_grad_kernel<T>, 1, THREADS, stream, *args, level,
                static_cast<T *>(dlogits), static_cast<T *>(ddeltas), gradient_scale, loss_scale);
        return launch_status();
    });
}
