/* What is left of a batch norm when its statistics come out of the convolution in front of it and
 * its result goes into the one behind it: the finalize between them, the result where no
 * convolution takes it, and the last pass of its gradient. */
#include "cuda/launch.h"
#include "cuda/vec.cuh"

template <typename T> static __global__ void finalize_kernel(struct norm_finalize_args args) {
    FOR_EACH_ITEM(c, static_cast<size_t>(args.channels)) {
        double count = static_cast<double>(args.rows);
        double mean = static_cast<double>(args.sum[c]) / count;
        double variance = static_cast<double>(args.square_sum[c]) / count - mean * mean;
        variance = variance > 0 ? variance : 0;
        double invstd = 1.0 / sqrt(variance + static_cast<double>(args.epsilon));
        double scale = static_cast<double>(args.gamma[c]) * invstd;
        args.mean[c] = static_cast<float>(mean);
        args.invstd[c] = static_cast<float>(invstd);
        static_cast<T *>(args.scale)[c] = narrow<T>(static_cast<float>(scale));
        static_cast<T *>(args.bias)[c] =
            narrow<T>(static_cast<float>(static_cast<double>(args.beta[c]) - mean * scale));
        double unbiased = args.rows > 1 ? variance * count / (count - 1) : variance;
        args.running_mean[c] += args.momentum * (static_cast<float>(mean) - args.running_mean[c]);
        args.running_variance[c] +=
            args.momentum * (static_cast<float>(unbiased) - args.running_variance[c]);
    }
}

cudaError_t launch_norm_finalize(cudaStream_t stream, enum dtype type,
                                 const struct norm_finalize_args *args) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(finalize_kernel<T>, blocks_for(static_cast<size_t>(args->channels)), THREADS,
                stream, *args);
        return cudaPeekAtLastError();
    });
}

/* A pass over [rows, channels] in packets of W channels: BODY is called with the first channel and
 * the offset of each. */
#define FOR_EACH_PACKET(W, channels, rows, c, at)                                                  \
    for (size_t item = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x,                 \
                packets = (rows) * ((channels) / (W));                                             \
         item < packets; item += static_cast<size_t>(gridDim.x) * blockDim.x)                      \
        if (int c = static_cast<int>(item % ((channels) / (W))) * (W); true)                       \
            if (size_t at = item * (W); true)

template <typename T, int W> static __global__ void apply_kernel(struct norm_apply_args args) {
    const T *scale = static_cast<const T *>(args.scale);
    const T *bias = static_cast<const T *>(args.bias);
    const T *scale2 = static_cast<const T *>(args.scale2);
    const T *bias2 = static_cast<const T *>(args.bias2);
    FOR_EACH_PACKET(W, args.channels, args.rows, c, at) {
        lane<W> v = load<T, W>(static_cast<const T *>(args.x) + at);
        lane<W> side = {};
        if (args.side != nullptr)
            side = load<T, W>(static_cast<const T *>(args.side) + at);
#pragma unroll
        for (int k = 0; k < W; k++) {
            float s = side.v[k];
            if (scale2 != nullptr)
                s = s * widen(scale2[c + k]) + widen(bias2[c + k]);
            float y = v.v[k] * widen(scale[c + k]) + widen(bias[c + k]) + s;
            v.v[k] = y > 0 ? y : 0;
        }
        store<T, W>(static_cast<T *>(args.y) + at, v);
    }
}

cudaError_t launch_norm_apply(cudaStream_t stream, enum dtype type,
                              const struct norm_apply_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t packets = args->rows * static_cast<size_t>(args->channels) / W;
        enqueue(apply_kernel<T, W>, blocks_for(packets), THREADS, stream, *args);
        return cudaPeekAtLastError();
    });
}

template <typename T, int W>
static __global__ void grad_apply_kernel(struct norm_grad_apply_args args) {
    FOR_EACH_PACKET(W, args.channels, args.rows, c, at) {
        lane<W> g = load<T, W>(static_cast<const T *>(args.g) + at);
        lane<W> x = load<T, W>(static_cast<const T *>(args.x) + at);
#pragma unroll
        for (int k = 0; k < W; k++)
            g.v[k] = args.coefficients[c + k] * g.v[k] +
                     args.coefficients[args.channels + c + k] * x.v[k] +
                     args.coefficients[2 * args.channels + c + k];
        store<T, W>(static_cast<T *>(args.dx) + at, g);
    }
}

cudaError_t launch_norm_grad_apply(cudaStream_t stream, enum dtype type,
                                   const struct norm_grad_apply_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t packets = args->rows * static_cast<size_t>(args->channels) / W;
        enqueue(grad_apply_kernel<T, W>, blocks_for(packets), THREADS, stream, *args);
        return cudaPeekAtLastError();
    });
}
