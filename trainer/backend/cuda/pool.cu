/* Pooling over NHWC. The index of a maximum is its cell in the window, row * kernel + column; the
 * gradient gathers, so that no two threads add to one place and the order of sums is fixed. */
#include "cuda/launch.h"
#include "cuda/vec.cuh"
#include "kernels/pool.h"

/* The place of packet I of a [batch, height, width, channels] tensor. */
struct place {
    int image, y, x, c;
};

template <int W>
static __device__ __forceinline__ struct place place_of(size_t i, int height, int width,
                                                        int channels) {
    int packets = channels / W;
    struct place p;
    p.c = static_cast<int>(i % packets) * W;
    i /= packets;
    p.x = static_cast<int>(i % width);
    i /= width;
    p.y = static_cast<int>(i % height);
    p.image = static_cast<int>(i / height);
    return p;
}

template <typename T, int W>
static __global__ void max_pool_kernel(struct pool_args s, const T *x, T *y, uint8_t *index,
                                       size_t packets) {
    FOR_EACH_ITEM(i, packets) {
        struct place p = place_of<W>(i, s.out_height, s.out_width, s.channels);
        lane<W> best;
        uint8_t cell[W];
#pragma unroll
        for (int k = 0; k < W; k++) {
            best.v[k] = 0;
            cell[k] = 0;
        }
        bool first = true;
        for (int ky = 0; ky < s.kernel; ky++) {
            for (int kx = 0; kx < s.kernel; kx++) {
                int iy = p.y * s.stride - s.pad + ky;
                int ix = p.x * s.stride - s.pad + kx;
                if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width)
                    continue;
                lane<W> v = load<T, W>(
                    x +
                    ((static_cast<size_t>(p.image) * s.height + iy) * s.width + ix) * s.channels +
                    p.c);
#pragma unroll
                for (int k = 0; k < W; k++) {
                    float value = v.v[k];
                    if (first || pool_exceeds(value, best.v[k])) {
                        best.v[k] = value;
                        cell[k] = static_cast<uint8_t>(ky * s.kernel + kx);
                    }
                }
                first = false;
            }
        }
        store<T, W>(y + i * W, best);
        if (index != nullptr) {
#pragma unroll
            for (int k = 0; k < W; k++)
                index[i * W + k] = cell[k];
        }
    }
}

cudaError_t launch_max_pool(cudaStream_t stream, enum dtype type, const struct pool_args *shape,
                            const void *x, void *y, uint8_t *index) {
    return with_packets(type, static_cast<size_t>(shape->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t packets = static_cast<size_t>(shape->batch) * shape->out_height * shape->out_width *
                         shape->channels / W;
        enqueue(max_pool_kernel<T, W>, blocks_for(packets), THREADS, stream, *shape,
                static_cast<const T *>(x), static_cast<T *>(y), index, packets);
        return cudaPeekAtLastError();
    });
}

template <typename T, int W>
static __global__ void max_pool_grad_kernel(struct pool_args s, const T *dy, const uint8_t *index,
                                            T *dx, size_t packets) {
    FOR_EACH_ITEM(i, packets) {
        struct place p = place_of<W>(i, s.height, s.width, s.channels);
        lane<W> sum = {};
        int first_y = (p.y + s.pad - s.kernel + s.stride) / s.stride;
        int first_x = (p.x + s.pad - s.kernel + s.stride) / s.stride;
        for (int oy = first_y > 0 ? first_y : 0; oy < s.out_height && oy * s.stride - s.pad <= p.y;
             oy++) {
            for (int ox = first_x > 0 ? first_x : 0;
                 ox < s.out_width && ox * s.stride - s.pad <= p.x; ox++) {
                size_t at =
                    ((static_cast<size_t>(p.image) * s.out_height + oy) * s.out_width + ox) *
                        s.channels +
                    p.c;
                int cell =
                    (p.y - (oy * s.stride - s.pad)) * s.kernel + p.x - (ox * s.stride - s.pad);
                lane<W> v = load<T, W>(dy + at);
#pragma unroll
                for (int k = 0; k < W; k++)
                    sum.v[k] += index[at + k] == cell ? v.v[k] : 0;
            }
        }
        store<T, W>(dx + i * W, sum);
    }
}

cudaError_t launch_max_pool_grad(cudaStream_t stream, enum dtype type,
                                 const struct pool_args *shape, const void *dy,
                                 const uint8_t *index, void *dx) {
    return with_packets(type, static_cast<size_t>(shape->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t packets =
            static_cast<size_t>(shape->batch) * shape->height * shape->width * shape->channels / W;
        enqueue(max_pool_grad_kernel<T, W>, blocks_for(packets), THREADS, stream, *shape,
                static_cast<const T *>(dy), index, static_cast<T *>(dx), packets);
        return cudaPeekAtLastError();
    });
}

template <typename T>
static __global__ void average_kernel(const T *x, T *y, int pixels, int channels, size_t count) {
    FOR_EACH_ITEM(i, count) {
        size_t image = i / channels;
        const T *from = x + image * pixels * channels + (i - image * channels);
        float sum = 0;
        for (int p = 0; p < pixels; p++)
            sum += widen(from[static_cast<size_t>(p) * channels]);
        y[i] = narrow<T>(sum / static_cast<float>(pixels));
    }
}

cudaError_t launch_average_pool(cudaStream_t stream, enum dtype type, const void *x, void *y,
                                int batch, int pixels, int channels) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = static_cast<size_t>(batch) * channels;
        enqueue(average_kernel<T>, blocks_for(count), THREADS, stream, static_cast<const T *>(x),
                static_cast<T *>(y), pixels, channels, count);
        return cudaPeekAtLastError();
    });
}

template <typename T>
static __global__ void average_grad_kernel(const T *dy, T *dx, int pixels, int channels,
                                           size_t count) {
    FOR_EACH_ITEM(i, count) {
        size_t image = i / channels / pixels;
        float share = widen(dy[image * channels + i % channels]) / static_cast<float>(pixels);
        dx[i] = narrow<T>(share);
    }
}

cudaError_t launch_average_pool_grad(cudaStream_t stream, enum dtype type, const void *dy, void *dx,
                                     int batch, int pixels, int channels) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = static_cast<size_t>(batch) * pixels * channels;
        enqueue(average_grad_kernel<T>, blocks_for(count), THREADS, stream,
                static_cast<const T *>(dy), static_cast<T *>(dx), pixels, channels, count);
        return cudaPeekAtLastError();
    });
}
