/* Small dense operators, bound by the bytes they move: biases, dropout, maps of half the size, the
 * gradient of frozen norms. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/dropout.h"
#include "trainer/math/relu.h"

/* Each function here is a launcher and its kernel. A thread handles a packet of neighbouring
 * channels (vec.cuh), 16 bytes where the number of channels allows, so that the memory system sees
 * whole lines. All arithmetic is f32; types only matter at loads and stores. Sizes are arguments of
 * the launch, so a recorded step can be replayed. */

/* Bytes moved: x and y once. A packet never crosses the end of a row, because its width divides the
 * number of channels. */
template <typename T, int W>
static __global__ void bias_kernel(const T *x, const float *bias, T *y, size_t packets,
                                   int channels, bool relu) {
    FOR_EACH_ITEM(i, packets) {
        lane<W> p = load<T, W>(x + i * W);
        int c = static_cast<int>(i * W % channels);
#pragma unroll
        for (int k = 0; k < W; k++) {
            p.v[k] += bias[c + k];
            p.v[k] = relu ? relu_float(p.v[k]) : p.v[k];
        }
        store<T, W>(y + i * W, p);
    }
}

/* Packets are as wide as CHANNELS allows. Y may be X. */
cudaError_t launch_bias(cudaStream_t stream, enum dtype type, const void *x, const float *bias,
                        void *y, size_t rows, int channels, bool relu) {
    return with_packets(type, static_cast<size_t>(channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t packets = rows * static_cast<size_t>(channels) / W;
        enqueue(bias_kernel<T, W>, blocks_for(packets), THREADS, stream, static_cast<const T *>(x),
                bias, static_cast<T *>(y), packets, channels, relu);
        return launch_status();
    });
}

/* A thread has the elements of one block of random numbers. Bytes moved: x and y once. Blocks of
 * numbers belong to positions in a sample, so every backend drops the same elements
 * (math/dropout.h). The last block of a sample may be partial. */
template <typename T>
static __global__ void dropout_kernel(const __grid_constant__ struct dropout_args args,
                                      size_t blocks) {
    const T *x = static_cast<const T *>(args.x);
    T *y = static_cast<T *>(args.y);
    FOR_EACH_ITEM(i, args.samples * blocks) {
        const size_t sample = i / blocks, block = i - sample * blocks;
        const size_t first = block * RANDOM_BLOCK;
        uint32_t numbers[RANDOM_BLOCK];
        dropout_numbers(args.key + sample * SAMPLE_KEY_WORDS, args.layer,
                        static_cast<uint32_t>(block), numbers);
#pragma unroll
        for (int k = 0; k < RANDOM_BLOCK; k++) {
            const size_t at = sample * args.count + first + k;
            if (first + k < args.count)
                y[at] = narrow<T>(widen(x[at]) * (numbers[k] < args.bound ? 0.0f : args.scale));
        }
    }
}

/* One thread for each block of random numbers, not for each element: the numbers come RANDOM_BLOCK
 * at a time. */
cudaError_t launch_dropout(cudaStream_t stream, enum dtype type, const struct dropout_args *args) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        const size_t blocks = (args->count + RANDOM_BLOCK - 1) / RANDOM_BLOCK;
        enqueue(dropout_kernel<T>, blocks_for(args->samples * blocks), THREADS, stream, *args,
                blocks);
        return launch_status();
    });
}

/* ROWS of all pictures and WIDTH are the smaller map's. Bytes moved: large, small and y once. I
 * counts packets of the large map; every pixel of the small one is read by four threads, which the
 * caches serve. */
template <typename T, int W>
static __global__ void upsample_add_kernel(const T *large, const T *small, T *y, size_t packets,
                                           size_t width, int channels) {
    FOR_EACH_ITEM(i, packets) {
        size_t at = i * W, pixel = at / channels, row = pixel / (2 * width);
        size_t from = (row / 2 * width + pixel % (2 * width) / 2) * channels + at % channels;
        lane<W> p = load<T, W>(large + at), q = load<T, W>(small + from);
#pragma unroll
        for (int k = 0; k < W; k++)
            p.v[k] += q.v[k];
        store<T, W>(y + at, p);
    }
}

/* Bytes moved: dy and db once. I counts packets of the small map. The four are added in pairs, in
 * f32, and rounded once. */
template <typename T, int W>
static __global__ void upsample_grad_kernel(const T *dy, T *db, size_t packets, size_t width,
                                            int channels) {
    FOR_EACH_ITEM(i, packets) {
        size_t at = i * W, pixel = at / channels, line = 2 * width * channels;
        const T *first =
            dy + pixel / width * 2 * line + pixel % width * 2 * channels + at % channels;
        lane<W> a = load<T, W>(first), b = load<T, W>(first + channels);
        lane<W> c = load<T, W>(first + line), d = load<T, W>(first + line + channels);
#pragma unroll
        for (int k = 0; k < W; k++)
            a.v[k] = (a.v[k] + b.v[k]) + (c.v[k] + d.v[k]);
        store<T, W>(db + at, a);
    }
}

/* Y may be LARGE: each packet is read before it is written. The number of packets is that of LARGE,
 * four times that of SMALL. */
cudaError_t launch_upsample_add(cudaStream_t stream, enum dtype type, const void *large,
                                const void *small, void *y, size_t rows, size_t width,
                                int channels) {
    return with_packets(type, static_cast<size_t>(channels), [=](auto tag, auto lanes) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(lanes)::value;
        size_t packets = 4 * rows * width * static_cast<size_t>(channels) / W;
        enqueue(upsample_add_kernel<T, W>, blocks_for(packets), THREADS, stream,
                static_cast<const T *>(large), static_cast<const T *>(small), static_cast<T *>(y),
                packets, width, channels);
        return launch_status();
    });
}

/* DB is the gradient of the small map. */
cudaError_t launch_upsample_grad(cudaStream_t stream, enum dtype type, const void *dy, void *db,
                                 size_t rows, size_t width, int channels) {
    return with_packets(type, static_cast<size_t>(channels), [=](auto tag, auto lanes) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(lanes)::value;
        size_t packets = rows * width * static_cast<size_t>(channels) / W;
        enqueue(upsample_grad_kernel<T, W>, blocks_for(packets), THREADS, stream,
                static_cast<const T *>(dy), static_cast<T *>(db), packets, width, channels);
        return launch_status();
    });
}

/* Bytes moved: the channels taken and y once. A thread finds its map by the running sums of
 * channels, of which there are at most LAUNCH_MAPS_MAX. With one map and a first channel the same
 * kernel takes a range. */
template <typename T, int W>
static __global__ void concat_kernel(const __grid_constant__ struct concat_args a, size_t packets) {
    const size_t width = static_cast<size_t>(a.y_channels / W);
    FOR_EACH_ITEM(i, packets) {
        const size_t row = i / width;
        const int c = static_cast<int>(i - row * width) * W;
        int map = 0, begin = 0;
        while (map + 1 < a.count && c >= a.end[map])
            begin = a.end[map++];
        const T *from = static_cast<const T *>(a.from[map]) +
                        row * static_cast<size_t>(a.channels[map]) + (a.first + c - begin);
        store<T, W>(static_cast<T *>(a.y) + i * W, load<T, W>(from));
    }
}

/* Boundaries between maps must not cut a packet. The bitwise or of all sizes is divisible by a
 * power of two exactly if each of them is. */
cudaError_t launch_concat(cudaStream_t stream, enum dtype type, const struct concat_args *args) {
    /* Whole packets if all of these numbers have them. */
    size_t sizes = static_cast<size_t>(args->y_channels | args->first);
    for (int i = 0; i < args->count; i++)
        sizes |= static_cast<size_t>(args->channels[i]);
    return with_packets(type, sizes, [=](auto tag, auto lanes) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(lanes)::value;
        size_t packets = args->rows * static_cast<size_t>(args->y_channels / W);
        enqueue(concat_kernel<T, W>, blocks_for(packets), THREADS, stream, *args, packets);
        return launch_status();
    });
}

/* Computed anew by each thread, from two values per channel that stay in the caches: a table would
 * be another launch. */
static __device__ __forceinline__ float frozen_scale(const float *gamma, const float *variance,
                                                     float epsilon, int c) {
    return gamma[c] / sqrtf(variance[c] + epsilon);
}

/* Bytes moved: dy, y if there is one, dx and dside if they are requested, once. Without y nothing
 * is masked. dx may be dy: an element is read before it is written. */
template <typename T, int W>
static __global__ void frozen_grad_kernel(const __grid_constant__ struct frozen_grad_args args,
                                          size_t packets) {
    FOR_EACH_ITEM(i, packets) {
        int c = static_cast<int>(i * W % args.channels);
        lane<W> g = load<T, W>(static_cast<const T *>(args.dy) + i * W), dx;
        if (args.y != nullptr) {
            lane<W> y = load<T, W>(static_cast<const T *>(args.y) + i * W);
#pragma unroll
            for (int k = 0; k < W; k++)
                g.v[k] = relu_passes_float(y.v[k]) ? g.v[k] : 0;
        }
#pragma unroll
        for (int k = 0; k < W; k++)
            dx.v[k] = g.v[k] * frozen_scale(args.gamma, args.variance, args.epsilon, c + k);
        store<T, W>(static_cast<T *>(args.dx) + i * W, dx);
        if (args.dside == nullptr)
            continue;
        if (args.gamma2 != nullptr)
#pragma unroll
            for (int k = 0; k < W; k++)
                g.v[k] *= frozen_scale(args.gamma2, args.variance2, args.epsilon, c + k);
        store<T, W>(static_cast<T *>(args.dside) + i * W, g);
    }
}

/* dx and dside are made from one read of dy. The launch is the operator: detectors have dozens of
 * these norms, each folded into its convolution in the forward pass. */
cudaError_t launch_frozen_grad(cudaStream_t stream, enum dtype type,
                               const struct frozen_grad_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t packets = args->rows * static_cast<size_t>(args->channels) / W;
        enqueue(frozen_grad_kernel<T, W>, blocks_for(packets), THREADS, stream, *args, packets);
        return launch_status();
    });
}
