/* Pooling over NHWC. The index of a maximum is its cell in the window, row * kernel + column. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pool.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"

/* Maximum and mean over windows and their gradients, and the mean over a whole picture. A thread
 * computes a packet of channels of one result. Gradients gather: the thread of an input's packet
 * looks at the few windows that contain it, so nothing is added atomically, and dx needs no
 * clearing. pool.cuh has the walks over windows, which norm kernels with a pool share.
 *
 * Indices are 32 bits wide, which makes their divisions cheap; launchers refuse larger tensors. */

/* Bytes moved: x once (its windows overlap in the caches), y and a byte a value. The index is left
 * out in inference. The first cell wins among equals, and NaN wins against all (math/pool.h). */
template <typename T, int W>
static __global__ void max_pool_kernel(const __grid_constant__ struct pool_args s, const T *x, T *y,
                                       uint8_t *index, unsigned packets) {
    const unsigned width = static_cast<unsigned>(s.channels / W);
    FOR_EACH_ITEM(i, packets) {
        const unsigned number = static_cast<unsigned>(i) / width;
        const int c = static_cast<int>(static_cast<unsigned>(i) - number * width) * W;
        const pixel o = pixel_at(number, s.out_height, s.out_width);
        const pooled_max<W> m = pool_window<T, W>(s, o, c, x, [](int, float v) { return v; });
        store<T, W>(y + i * W, m.best);
        if (index != nullptr)
            *reinterpret_cast<packet<uint8_t, W> *>(index + i * W) = m.cell;
    }
}

/* Returns 0 if there are more packets than 32 bits can count. The launchers then return an error
 * instead of wrapping around. */
static unsigned packets_of(const struct pool_args *s, int height, int width, int in_packet) {
    size_t packets = static_cast<size_t>(s->batch) * height * width * s->channels / in_packet;
    return packets <= UINT32_MAX ? static_cast<unsigned>(packets) : 0;
}

/* The size of the input is checked as well: its pixels are indexed in 32 bits, too. INDEX may be
 * NULL. */
cudaError_t launch_max_pool(cudaStream_t stream, enum dtype type, const struct pool_args *shape,
                            const void *x, void *y, uint8_t *index) {
    return with_packets(type, static_cast<size_t>(shape->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        unsigned packets = packets_of(shape, shape->out_height, shape->out_width, W);
        if (packets == 0 || packets_of(shape, shape->height, shape->width, 1) == 0)
            return cudaErrorInvalidValue;
        enqueue(max_pool_kernel<T, W>, blocks_for(packets), THREADS, stream, *shape,
                static_cast<const T *>(x), static_cast<T *>(y), index, packets);
        return launch_status();
    });
}

/* Bytes moved: dy and the index once (windows overlap in the caches), dx. It needs no x: the index
 * tells which cell of a window was the maximum. Windows are added in a fixed order, so the sum has
 * the same bits in every run. */
template <typename T, int W>
static __global__ void max_pool_grad_kernel(const __grid_constant__ struct pool_args s, const T *dy,
                                            const uint8_t *index, T *dx, unsigned packets) {
    const unsigned width = static_cast<unsigned>(s.channels / W);
    FOR_EACH_ITEM(i, packets) {
        const unsigned number = static_cast<unsigned>(i) / width;
        const int c = static_cast<int>(static_cast<unsigned>(i) - number * width) * W;
        const pixel p = pixel_at(number, s.height, s.width);
        store<T, W>(dx + i * W,
                    pool_gather<T, W>(s, p, c, dy, static_cast<const T *>(nullptr), index));
    }
}

/* SHAPE describes the pool, so its height and width are dx's. INDEX is what launch_max_pool()
 * wrote, of the same shape. */
cudaError_t launch_max_pool_grad(cudaStream_t stream, enum dtype type,
                                 const struct pool_args *shape, const void *dy,
                                 const uint8_t *index, void *dx) {
    return with_packets(type, static_cast<size_t>(shape->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        unsigned packets = packets_of(shape, shape->height, shape->width, W);
        if (packets == 0)
            return cudaErrorInvalidValue;
        enqueue(max_pool_grad_kernel<T, W>, blocks_for(packets), THREADS, stream, *shape,
                static_cast<const T *>(dy), index, static_cast<T *>(dx), packets);
        return launch_status();
    });
}

/* Bytes moved: x once (its windows overlap in the caches), y. Cells outside the picture count as 0
 * but stay in the divisor. The window may begin before the picture; pool_mean() cuts it. */
template <typename T, int W>
static __global__ void window_average_kernel(const __grid_constant__ struct pool_args s, const T *x,
                                             T *y, unsigned packets) {
    const unsigned width = static_cast<unsigned>(s.channels / W);
    FOR_EACH_ITEM(i, packets) {
        const unsigned number = static_cast<unsigned>(i) / width;
        const int c = static_cast<int>(static_cast<unsigned>(i) - number * width) * W;
        const pixel o = pixel_at(number, s.out_height, s.out_width);
        const int top = o.y * s.stride - s.pad, left = o.x * s.stride - s.pad;
        store<T, W>(y + i * W, pool_mean<T, W>(s, o.image, {top, top + s.kernel},
                                               {left, left + s.kernel}, s.height, s.width, c, x));
    }
}

/* Bytes moved: dy once (windows overlap in the caches), dx. The same mean over the windows that
 * contain the pixel. Sizes change places: it averages over a part of the small map. */
template <typename T, int W>
static __global__ void window_average_grad_kernel(const __grid_constant__ struct pool_args s,
                                                  const T *dy, T *dx, unsigned packets) {
    const unsigned width = static_cast<unsigned>(s.channels / W);
    FOR_EACH_ITEM(i, packets) {
        const unsigned number = static_cast<unsigned>(i) / width;
        const int c = static_cast<int>(static_cast<unsigned>(i) - number * width) * W;
        const pixel p = pixel_at(number, s.height, s.width);
        store<T, W>(dx + i * W,
                    pool_mean<T, W>(s, p.image, windows_with(s, p.y), windows_with(s, p.x),
                                    s.out_height, s.out_width, c, dy));
    }
}

/* FROM and TO change places for the gradient. The launch has as many packets as its result. */
cudaError_t launch_window_average(cudaStream_t stream, enum dtype type,
                                  const struct pool_args *shape, const void *from, void *to,
                                  bool gradient) {
    return with_packets(type, static_cast<size_t>(shape->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        const unsigned large = packets_of(shape, shape->height, shape->width, W);
        const unsigned small = packets_of(shape, shape->out_height, shape->out_width, W);
        const unsigned packets = gradient ? large : small;
        if (large == 0 || small == 0)
            return cudaErrorInvalidValue;
        enqueue(gradient ? window_average_grad_kernel<T, W> : window_average_kernel<T, W>,
                blocks_for(packets), THREADS, stream, *shape, static_cast<const T *>(from),
                static_cast<T *>(to), packets);
        return launch_status();
    });
}

/* Bytes moved: x once. A thread adds up one channel of a picture, in f32 and in order. Neighbouring
 * threads read neighbouring channels of a pixel. */
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

/* One thread for each result. PIXELS is the number of pixels of one picture. */
cudaError_t launch_average_pool(cudaStream_t stream, enum dtype type, const void *x, void *y,
                                int batch, int pixels, int channels) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = static_cast<size_t>(batch) * channels;
        enqueue(average_kernel<T>, blocks_for(count), THREADS, stream, static_cast<const T *>(x),
                static_cast<T *>(y), pixels, channels, count);
        return launch_status();
    });
}

/* Bytes moved: dx once. Every pixel gets the same share. The division is by the same number as in
 * the forward pass. */
template <typename T>
static __global__ void average_grad_kernel(const T *dy, T *dx, int pixels, int channels,
                                           size_t count) {
    FOR_EACH_ITEM(i, count) {
        size_t image = i / channels / pixels;
        float share = widen(dy[image * channels + i % channels]) / static_cast<float>(pixels);
        dx[i] = narrow<T>(share);
    }
}

/* x is not needed; the launch writes all of dx. */
cudaError_t launch_average_pool_grad(cudaStream_t stream, enum dtype type, const void *dy, void *dx,
                                     int batch, int pixels, int channels) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = static_cast<size_t>(batch) * pixels * channels;
        enqueue(average_grad_kernel<T>, blocks_for(count), THREADS, stream,
                static_cast<const T *>(dy), static_cast<T *>(dx), pixels, channels, count);
        return launch_status();
    });
}
