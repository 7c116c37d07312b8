/* Common parts of kernels with a pool: iteration over a window, and over the windows that
 * contain an element. Indices are 32 bits wide: an activation's pixels are far fewer. */
#ifndef CUDA_KERNELS_POOL_CUH
#define CUDA_KERNELS_POOL_CUH

#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/pool.h"

struct pixel {
    unsigned image;
    int y, x;
};

/* Pixel NUMBER of a batch of images. */
static __device__ __forceinline__ pixel pixel_at(size_t number, int height, int width) {
    unsigned rest = static_cast<unsigned>(number);
    pixel p;
    unsigned row = rest / static_cast<unsigned>(width);
    p.x = static_cast<int>(rest - row * static_cast<unsigned>(width));
    p.image = row / static_cast<unsigned>(height);
    p.y = static_cast<int>(row - p.image * static_cast<unsigned>(height));
    return p;
}

/* Returns the index of channel C of a pixel. */
static __device__ __forceinline__ size_t element_at(unsigned image, int y, int x, int height,
                                                    int width, int channels, int c) {
    unsigned number = (image * static_cast<unsigned>(height) + static_cast<unsigned>(y)) *
                          static_cast<unsigned>(width) +
                      static_cast<unsigned>(x);
    return static_cast<size_t>(number) * channels + c;
}

template <int W> struct pooled_max {
    lane<W> best;
    packet<uint8_t, W> cell; /* row * kernel + column in the window */
};

/* The maximum of VALUE(k, x) over the window of output pixel O, of the packet of channels at C. */
template <typename T, int W, typename Value>
static __device__ __forceinline__ pooled_max<W>
pool_window(const struct pool_args &s, const pixel &o, int c, const T *x, Value value) {
    pooled_max<W> m = {};
    bool first = true;
    for (int ky = 0; ky < s.kernel; ky++) {
        const int iy = o.y * s.stride - s.pad + ky;
        if (iy < 0 || iy >= s.height)
            continue;
        for (int kx = 0; kx < s.kernel; kx++) {
            const int ix = o.x * s.stride - s.pad + kx;
            if (ix < 0 || ix >= s.width)
                continue;
            const lane<W> v =
                load<T, W>(x + element_at(o.image, iy, ix, s.height, s.width, s.channels, c));
#pragma unroll
            for (int k = 0; k < W; k++) {
                float candidate = value(k, v.v[k]);
                if (first || pool_exceeds_float(candidate, m.best.v[k])) {
                    m.best.v[k] = candidate;
                    m.cell.v[k] = static_cast<uint8_t>(ky * s.kernel + kx);
                }
            }
            first = false;
        }
    }
    return m;
}

/* The sum of dy (and dy2, where there is one) over the windows with input pixel P as their maximum.
 * It gathers, so that no two threads add to one place and the order of sums is fixed. */
template <typename T, int W>
static __device__ __forceinline__ lane<W> pool_gather(const struct pool_args &s, const pixel &p,
                                                      int c, const T *dy, const T *dy2,
                                                      const uint8_t *index) {
    lane<W> sum = {};
    const int first_y = (p.y + s.pad - s.kernel + s.stride) / s.stride;
    const int first_x = (p.x + s.pad - s.kernel + s.stride) / s.stride;
    for (int oy = first_y > 0 ? first_y : 0; oy < s.out_height && oy * s.stride - s.pad <= p.y;
         oy++) {
        for (int ox = first_x > 0 ? first_x : 0; ox < s.out_width && ox * s.stride - s.pad <= p.x;
             ox++) {
            const size_t at = element_at(p.image, oy, ox, s.out_height, s.out_width, s.channels, c);
            const int cell =
                (p.y - (oy * s.stride - s.pad)) * s.kernel + p.x - (ox * s.stride - s.pad);
            const packet<uint8_t, W> cells =
                *reinterpret_cast<const packet<uint8_t, W> *>(index + at);
            lane<W> v = load<T, W>(dy + at);
            lane<W> more = {};
            if (dy2 != nullptr)
                more = load<T, W>(dy2 + at);
#pragma unroll
            for (int k = 0; k < W; k++)
                sum.v[k] += cells.v[k] == cell ? v.v[k] + more.v[k] : 0;
        }
    }
    return sum;
}

/* Pixels, or windows, [begin, end) of an axis. */
struct pool_span {
    int begin, end;
};

/* The windows that contain pixel AT of an axis; the last ones may not exist. */
static __device__ __forceinline__ pool_span windows_with(const struct pool_args &s, int at) {
    const int padded = at + s.pad;
    return {padded < s.kernel ? 0 : (padded - s.kernel) / s.stride + 1, padded / s.stride + 1};
}

/* The sum of rows x columns of X, [.., HEIGHT, WIDTH, channels], as far as they exist, divided by
 * the size of a window. */
template <typename T, int W>
static __device__ __forceinline__ lane<W> pool_mean(const struct pool_args &s, unsigned image,
                                                    pool_span rows, pool_span columns, int height,
                                                    int width, int c, const T *x) {
    lane<W> sum = {};
    const float share = 1.0F / static_cast<float>(s.kernel * s.kernel);
    for (int y = rows.begin > 0 ? rows.begin : 0; y < rows.end && y < height; y++) {
        for (int i = columns.begin > 0 ? columns.begin : 0; i < columns.end && i < width; i++) {
            const lane<W> v = load<T, W>(x + element_at(image, y, i, height, width, s.channels, c));
#pragma unroll
            for (int k = 0; k < W; k++)
                sum.v[k] += v.v[k];
        }
    }
#pragma unroll
    for (int k = 0; k < W; k++)
        sum.v[k] *= share;
    return sum;
}

#endif
