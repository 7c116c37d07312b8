/* A region proposal network's losses: a few hundred anchors a picture, so one block, in double and
 * in one order; and their gradient, 0 but for those anchors. */
#include "cuda/launch_rpn.h"
#include "cuda/vec.cuh"
#include "graph/op_rpn.h"
#include "kernels/detect_loss.h"
#include "kernels/match.h"

/* Adds V over the block, in a fixed order; every thread gets the sum. All must call it. */
static __device__ double sum_over_block(double v) {
    __shared__ double sums[THREADS];
    __syncthreads();
    sums[threadIdx.x] = v;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

static __device__ double divisor(const struct rpn_loss_args &args) {
    const int slots = args.samples * args.rpn.pictures;
    double found = 0;
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += THREADS)
        found += args.index[i] >= 0;
    found = sum_over_block(found);
    return args.fixed_count ? static_cast<double>(slots) : found > 0 ? found : 1;
}

/* The row of slot I's anchor in its level's matrices. */
static __device__ size_t row_of(const struct rpn_loss_args &args, int i, int level) {
    const struct anchor_level *anchors = &args.rpn.grid.level[level];
    return static_cast<size_t>(i / args.samples) *
               static_cast<size_t>(anchor_level_count(anchors)) +
           static_cast<size_t>(args.index[i] - anchors->first);
}

static __global__ void loss_kernel(const __grid_constant__ struct rpn_loss_args args,
                                   float *losses) {
    const int slots = args.samples * args.rpn.pictures;
    const double all = divisor(args), beta = static_cast<double>(args.beta);
    double sum[RPN_LOSSES] = {0, 0, 0, 0};
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += THREADS) {
        if (args.index[i] < 0)
            continue;
        const int level = anchor_level_of(&args.rpn.grid, args.index[i]);
        const size_t row = row_of(args, i, level);
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
    enqueue(loss_kernel, 1, THREADS, stream, *args, losses);
    return cudaPeekAtLastError();
}

template <typename T>
static __global__ void clear_gradients_kernel(T *dlogits, T *ddeltas, size_t anchors) {
    FOR_EACH_ITEM(i, anchors * 4) {
        if (i < anchors)
            dlogits[i] = narrow<T>(0);
        ddeltas[i] = narrow<T>(0);
    }
}

template <typename T>
static __global__ void gradients_kernel(const __grid_constant__ struct rpn_loss_args args,
                                        int level, T *dlogits, T *ddeltas, float gradient_scale,
                                        const float *loss_scale) {
    const int slots = args.samples * args.rpn.pictures;
    const double beta = static_cast<double>(args.beta);
    const double scale = static_cast<double>(gradient_scale) / divisor(args) *
                         static_cast<double>(loss_scale != nullptr ? *loss_scale : 1.0f);
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += THREADS) {
        if (args.index[i] < 0 || anchor_level_of(&args.rpn.grid, args.index[i]) != level)
            continue;
        const size_t row = row_of(args, i, level);
        dlogits[row] = narrow<T>(static_cast<float>(
            scale * logit_loss_gradient(static_cast<double>(args.logits[0][row]), args.label[i])));
        for (int k = 0; k < 4 && args.label[i] == MATCH_OBJECT; k++)
            ddeltas[row * 4 + k] = narrow<T>(static_cast<float>(
                scale * smooth_l1_gradient(static_cast<double>(args.deltas[0][row * 4 + k]) -
                                               static_cast<double>(args.target[i * 4 + k]),
                                           beta)));
    }
}

cudaError_t launch_rpn_loss_grad(cudaStream_t stream, enum dtype type,
                                 const struct rpn_loss_args *args, int level, void *dlogits,
                                 void *ddeltas, float gradient_scale, const float *loss_scale) {
    const size_t anchors = static_cast<size_t>(anchor_level_count(&args->rpn.grid.level[level])) *
                           static_cast<size_t>(args->rpn.pictures);
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(clear_gradients_kernel<T>, blocks_for(anchors * 4), THREADS, stream,
                static_cast<T *>(dlogits), static_cast<T *>(ddeltas), anchors);
        enqueue(gradients_kernel<T>, 1, THREADS, stream, *args, level, static_cast<T *>(dlogits),
                static_cast<T *>(ddeltas), gradient_scale, loss_scale);
        return cudaPeekAtLastError();
    });
}
