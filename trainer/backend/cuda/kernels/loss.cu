/* Softmax cross-entropy with label smoothing: one block per sample, sums in a fixed order. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/sum.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/graph/op.h"
#include "trainer/math/softmax_loss.h"

#include <math.h>

/* Adds (or, with MAX, takes the greatest of) V over the block; every thread gets the result. */
template <bool MAX> static __device__ __forceinline__ float over_block(float v) {
    __shared__ float values[THREADS];
    __syncthreads();
    values[threadIdx.x] = v;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = values[threadIdx.x + half];
            float mine = values[threadIdx.x];
            values[threadIdx.x] = MAX ? fmaxf(mine, other) : mine + other;
        }
        __syncthreads();
    }
    return values[0];
}

/* Returns log(sum(exp(logits))) of one sample, which the threads of a block share; as
 * softmax_log_sum_f32, but in single precision. */
static __device__ __forceinline__ float block_log_sum(const float *logits, int classes) {
    float greatest = -INFINITY;
    for (int k = static_cast<int>(threadIdx.x); k < classes; k += THREADS)
        greatest = fmaxf(greatest, logits[k]);
    greatest = over_block<true>(greatest);
    float sum = 0;
    for (int k = static_cast<int>(threadIdx.x); k < classes; k += THREADS)
        sum += expf(logits[k] - greatest);
    return greatest + logf(over_block<false>(sum));
}

/* Bytes moved: 4 per logit (read twice, from the caches the second time). */
static __global__ void loss_kernel(const __grid_constant__ struct loss_args args, float *partial) {
    int sample = static_cast<int>(blockIdx.x);
    const float *logits = args.logits + static_cast<size_t>(sample) * args.classes;
    float weight = args.weights[sample];
    float *out = partial + static_cast<size_t>(sample) * LOSS_METRICS;
    if (!(weight > 0)) { /* the label of such a slot is not read */
        if (threadIdx.x < LOSS_METRICS)
            out[threadIdx.x] = 0;
        return;
    }
    int label = args.labels[sample];
    float normaliser = block_log_sum(logits, args.classes);
    float own = logits[label];
    float all = 0, ahead = 0;
    for (int k = static_cast<int>(threadIdx.x); k < args.classes; k += THREADS) {
        float v = logits[k];
        all += normaliser - v;
        ahead += softmax_before(v, own, k, label) ? 1.0f : 0.0f;
    }
    all = over_block<false>(all);
    ahead = over_block<false>(ahead);
    if (threadIdx.x == 0) {
        int before = static_cast<int>(ahead);
        out[LOSS_SUM] = weight * ((1 - args.smoothing) * (normaliser - own) +
                                  args.smoothing / static_cast<float>(args.classes) * all);
        out[LOSS_TOP1] = softmax_among(before, 1, args.classes) ? weight : 0;
        out[LOSS_TOP5] = softmax_among(before, 5, args.classes) ? weight : 0;
        out[LOSS_WEIGHT] = weight;
    }
}

/* One block per metric: a single thread would wait for each sample. Bytes moved: 4
 * per sample and metric. */
static __global__ void sum_metrics_kernel(const float *partial, int batch, float *metrics) {
    wait_for_others();
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < batch; i += THREADS)
        sum += partial[static_cast<size_t>(i) * LOSS_METRICS + blockIdx.x];
    sum = sum_over_block(sum);
    if (threadIdx.x == 0)
        metrics[blockIdx.x] = static_cast<float>(sum);
}

cudaError_t launch_loss(cudaStream_t stream, const struct loss_args *args, float *metrics,
                        float *partial) {
    enqueue(loss_kernel, static_cast<unsigned>(args->batch), THREADS, stream, *args, partial);
    enqueue_early(sum_metrics_kernel, LOSS_METRICS, THREADS, stream, partial, args->batch, metrics);
    return launch_status();
}

/* Bytes moved: 4 per logit, and dlogits. */
template <typename T>
static __global__ void loss_grad_kernel(const __grid_constant__ struct loss_args args, T *dlogits,
                                        float gradient_scale, const float *loss_scale) {
    wait_for_others();
    int sample = static_cast<int>(blockIdx.x);
    size_t row = static_cast<size_t>(sample) * args.classes;
    const float *logits = args.logits + row;
    float weight = args.weights[sample];
    int label = weight > 0 ? args.labels[sample] : -1;
    float scale = gradient_scale * weight * (loss_scale != nullptr ? *loss_scale : 1.0f);
    float normaliser = block_log_sum(logits, args.classes);
    float smooth = args.smoothing / static_cast<float>(args.classes);
    for (int k = static_cast<int>(threadIdx.x); k < args.classes; k += THREADS) {
        float target = smooth + (k == label ? 1 - args.smoothing : 0);
        float g = weight > 0 ? scale * (expf(logits[k] - normaliser) - target) : 0;
        dlogits[row + k] = narrow<T>(g);
    }
}

cudaError_t launch_loss_grad(cudaStream_t stream, enum dtype type, const struct loss_args *args,
                             void *dlogits, float gradient_scale, const float *loss_scale) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue_early(loss_grad_kernel<T>, static_cast<unsigned>(args->batch), THREADS, stream,
                      *args, static_cast<T *>(dlogits), gradient_scale, loss_scale);
        return launch_status();
    });
}
