/* 1x1 convolution with one output channel per row. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/vec.cuh"

enum { WARP = 32 };

/* Returns W rounded to the activations' type. */
template <typename T> static __device__ __forceinline__ float rounded(float w) {
    return widen(narrow<T>(w));
}

/* Adds V over a warp; every lane gets the result. */
static __device__ __forceinline__ float over_warp(float v) {
    for (int step = WARP / 2; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}

/* One warp per pixel. Bytes moved: x once, 4 per pixel written; the weights stay in the caches. */
template <typename T>
static __global__ void
class_conv_forward_kernel(const __grid_constant__ struct class_conv_args args) {
    size_t pixels = static_cast<size_t>(args.rows) * args.pixels;
    size_t warps = static_cast<size_t>(gridDim.x) * (THREADS / WARP);
    int lane = static_cast<int>(threadIdx.x) % WARP;
    for (size_t at = blockIdx.x * static_cast<size_t>(THREADS / WARP) + threadIdx.x / WARP;
         at < pixels; at += warps) {
        int label = args.label[at / args.pixels];
        float sum = 0;
        const T *x = static_cast<const T *>(args.x) + at * args.channels;
        const float *w = args.w + static_cast<size_t>(label < 1 ? 0 : label) * args.channels;
        for (int c = lane; c < args.channels && label >= 1; c += WARP)
            sum += widen(x[c]) * rounded<T>(w[c]);
        sum = over_warp(sum);
        if (lane == 0)
            args.logits[at] = label < 1 ? 0 : sum + args.b[label];
    }
}

/* Bytes moved: dy once (its channels share it in the caches) and dx. */
template <typename T>
static __global__ void class_conv_data_kernel(const __grid_constant__ struct class_conv_args args) {
    size_t count = static_cast<size_t>(args.rows) * args.pixels * args.channels;
    FOR_EACH_ITEM(i, count) {
        size_t pixel = i / args.channels;
        int label = args.label[pixel / args.pixels];
        float value = 0;
        if (label >= 1)
            value =
                widen(static_cast<const T *>(args.dy)[pixel]) *
                rounded<T>(args.w[static_cast<size_t>(label) * args.channels + i % args.channels]);
        static_cast<T *>(args.dx)[i] = narrow<T>(value);
    }
}

/* One block per row: its sums over pixels of dy times x, followed by those of the channels of dy.
 * Bytes moved: x and dy of rows that have a label, 4 per channel of such a row written. */
template <typename T>
static __global__ void
class_conv_parts_kernel(const __grid_constant__ struct class_conv_args args) {
    size_t row = blockIdx.x;
    if (args.label[row] < 1)
        return;
    const T *dy = static_cast<const T *>(args.dy) + row * args.pixels;
    const T *x = static_cast<const T *>(args.x) + row * args.pixels * args.channels;
    for (int c = static_cast<int>(threadIdx.x); c <= args.channels; c += THREADS) {
        float sum = 0;
        for (int i = 0; i < args.pixels; i++) {
            float value =
                c < args.channels ? widen(x[static_cast<size_t>(i) * args.channels + c]) : 1.0f;
            sum += widen(dy[i]) * value;
        }
        args.parts[row * (args.channels + 1) + c] = sum;
    }
}

/* One block per class adds the parts of its rows, in their order. Bytes moved: the parts and the
 * labels once (each row has one class), dw and db. */
static __global__ void
class_conv_classes_kernel(const __grid_constant__ struct class_conv_args args) {
    int label = static_cast<int>(blockIdx.x);
    for (int c = static_cast<int>(threadIdx.x); c <= args.channels; c += THREADS) {
        double sum = 0;
        for (int row = 0; row < args.rows && label >= 1; row++)
            if (args.label[row] == label)
                sum += args.parts[static_cast<size_t>(row) * (args.channels + 1) + c];
        float *to = c < args.channels ? args.dw + static_cast<size_t>(label) * args.channels + c
                                      : args.db + label;
        *to = static_cast<float>(sum);
    }
}

cudaError_t launch_class_conv(cudaStream_t stream, enum dtype type,
                              const struct class_conv_args *args) {
    size_t pixels = static_cast<size_t>(args->rows) * args->pixels;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(class_conv_forward_kernel<T>, blocks_for(pixels * WARP), THREADS, stream, *args);
        return launch_status();
    });
}

cudaError_t launch_class_conv_grad_data(cudaStream_t stream, enum dtype type,
                                        const struct class_conv_args *args) {
    size_t count = static_cast<size_t>(args->rows) * args->pixels * args->channels;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(class_conv_data_kernel<T>, blocks_for(count), THREADS, stream, *args);
        return launch_status();
    });
}

cudaError_t launch_class_conv_grad_weight(cudaStream_t stream, enum dtype type,
                                          const struct class_conv_args *args) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(class_conv_parts_kernel<T>, static_cast<unsigned>(args->rows), THREADS, stream,
                *args);
        enqueue(class_conv_classes_kernel, static_cast<unsigned>(args->classes), THREADS, stream,
                *args);
        return launch_status();
    });
}
