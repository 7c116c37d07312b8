/* Common parts of the batch-norm kernels: the walk of a block over [rows, channels], the sum over a
 * block's rows, and the sum over all blocks. */
#ifndef CUDA_KERNELS_NORM_CUH
#define CUDA_KERNELS_NORM_CUH

#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/relu.h"

/* norm_forward.cu, norm_backward.cu, norm_fused.cu, elementwise.cu and optional/kernels/ use these
 * parts. Activations are matrices [rows, channels]: all pixels of a batch by their channels. A grid
 * has blocks of channels (x) and chunks of rows (y); the number of chunks is the caller's
 * (launch_norm_chunks) and decides the order of all sums, so results depend on it and on nothing
 * else. */

/* A block is LANES packets of channels wide and ROWS_PER_BLOCK rows high. Eight lanes of 16 bytes
 * are a whole 128-byte line of each row. A thread keeps the same channels, so that values per
 * channel are loaded once, into registers. */
enum { LANES = 8, ROWS_PER_BLOCK = 32, NORM_THREADS = LANES * ROWS_PER_BLOCK };

/* Threads of one warp are 8 packets of channels by 4 rows. */
static inline dim3 norm_block() {
    return dim3(LANES, ROWS_PER_BLOCK);
}
/* The last block of channels may have idle lanes. */
template <int W> static inline dim3 norm_grid(int channels, int chunks) {
    return dim3((channels + LANES * W - 1) / (LANES * W), chunks);
}

/* This thread's first channel. */
template <int W> static __device__ __forceinline__ int own_channel() {
    return static_cast<int>(blockIdx.x * LANES + threadIdx.x) * W;
}

/* USE(r, FETCH(r)) for every row of this thread, in order. The loads of FLIGHT rows are issued
 * before the first of them is used. Rows are dealt to the chunks in turns, ROWS_PER_BLOCK at a
 * time, so neighbouring blocks read neighbouring memory. */
template <int FLIGHT, typename Fetch, typename Use>
static __device__ __forceinline__ void walk_rows(size_t rows, Fetch fetch, Use use) {
    const size_t step = static_cast<size_t>(gridDim.y) * ROWS_PER_BLOCK;
    size_t r = blockIdx.y * static_cast<size_t>(ROWS_PER_BLOCK) + threadIdx.y;
    for (; r + (FLIGHT - 1) * step < rows; r += FLIGHT * step) {
        decltype(fetch(r)) held[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            held[i] = fetch(r + i * step);
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            use(r + i * step, held[i]);
    }
    for (; r < rows; r += step)
        use(r, fetch(r));
}

/* A packet as stored in memory; it is converted to f32 at its use. This halves the registers of
 * loads in flight. */
template <typename T, int W>
static __device__ __forceinline__ packet<T, W> raw_at(const void *base, size_t at) {
    return *reinterpret_cast<const packet<T, W> *>(static_cast<const T *>(base) + at);
}
template <typename T, int W>
static __device__ __forceinline__ lane<W> widened(const packet<T, W> &raw) {
    lane<W> out;
#pragma unroll
    for (int k = 0; k < W; k++)
        out.v[k] = widen(raw.v[k]);
    return out;
}

/* W neighbouring f32 values of a row of channels. Four at a time where W allows, as 16 bytes are
 * the widest load. */
template <int W> static __device__ __forceinline__ lane<W> load_f32(const float *p) {
    lane<W> out;
    constexpr int PART = W % 4 == 0 ? 4 : 1;
#pragma unroll
    for (int k = 0; k < W; k += PART) {
        packet<float, PART> part = *reinterpret_cast<const packet<float, PART> *>(p + k);
#pragma unroll
        for (int i = 0; i < PART; i++)
            out.v[k + i] = part.v[i];
    }
    return out;
}

/* x * scale + bias of a packet of channels. */
template <int W> struct affine {
    lane<W> scale, bias;

    __device__ __forceinline__ float at(int k, float x) const {
        return x * scale.v[k] + bias.v[k];
    }
};

/* The norm with MEAN and INVSTD as such. Two numbers a channel instead of four, and one fused
 * operation an element. */
template <int W>
static __device__ __forceinline__ affine<W> affine_of(const struct norm_args &norm, int c,
                                                      const lane<W> &mean, const lane<W> &invstd) {
    const lane<W> gamma = load_f32<W>(norm.gamma + c), beta = load_f32<W>(norm.beta + c);
    affine<W> a;
#pragma unroll
    for (int k = 0; k < W; k++) {
        a.scale.v[k] = gamma.v[k] * invstd.v[k];
        a.bias.v[k] = beta.v[k] - mean.v[k] * a.scale.v[k];
    }
    return a;
}

/* dx = a g + b x + c of a packet of channels. The coefficients are a tensor [3, channels]: a, b and
 * c, one row each. */
template <int W> struct grad_affine {
    lane<W> a, b, c;

    __device__ __forceinline__ void set(const float *coefficients, int channels, int at) {
        a = load_f32<W>(coefficients + at);
        b = load_f32<W>(coefficients + channels + at);
        c = load_f32<W>(coefficients + 2 * channels + at);
    }
    __device__ __forceinline__ float at(int k, float g, float x) const {
        return a.v[k] * g + b.v[k] * x + c.v[k];
    }
};

/* The operand added to a norm's result: none, another activation, or another norm of one. It holds
 * the factors of the second norm in registers. */
template <int W> struct join_side {
    const void *x; /* NULL: nothing */
    bool dual;
    affine<W> norm;
};

/* y = norm(x) + side, with a ReLU if RELU is set, over this block's rows of [rows, channels], for
 * the packet of channels at C. X and Y may be the same memory, as each element is read before it is
 * written. */
template <typename T, int W>
static __device__ __forceinline__ void apply_norm(const void *x, const affine<W> &norm,
                                                  const join_side<W> &side, bool relu, void *y,
                                                  size_t rows, int channels, int c) {
    struct operands {
        packet<T, W> x, side;
    };
    walk_rows<2>(
        rows,
        [&](size_t r) {
            const size_t at = r * channels + c;
            operands o = {raw_at<T, W>(x, at), {}};
            if (side.x != nullptr)
                o.side = raw_at<T, W>(side.x, at);
            return o;
        },
        [&](size_t r, const operands &o) {
            lane<W> out;
#pragma unroll
            for (int k = 0; k < W; k++) {
                float s = side.x != nullptr ? widen(o.side.v[k]) : 0;
                if (side.dual)
                    s = side.norm.at(k, s);
                const float v = norm.at(k, widen(o.x.v[k])) + s;
                out.v[k] = relu ? relu_float(v) : v;
            }
            store<T, W>(static_cast<T *>(y) + r * channels + c, out);
        });
}

/* Adds V over the rows of the block, in a fixed order, and writes the W sums to OUT (each lane has
 * its own OUT). All threads of the block must call it. INSIDE is false in lanes past the last
 * channel, which have no OUT. Called several times by one kernel, hence the first barrier. */
template <int W>
static __device__ __forceinline__ void reduce_rows(const lane<W> &v, bool inside, float *out) {
    __shared__ float sums[ROWS_PER_BLOCK][LANES * W];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < W; k++)
        sums[threadIdx.y][threadIdx.x * W + k] = v.v[k];
    __syncthreads();
    for (unsigned half = ROWS_PER_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.y < half) {
#pragma unroll
            for (int k = 0; k < W; k++)
                sums[threadIdx.y][threadIdx.x * W + k] +=
                    sums[threadIdx.y + half][threadIdx.x * W + k];
        }
        __syncthreads();
    }
    if (threadIdx.y == 0 && inside) {
#pragma unroll
        for (int k = 0; k < W; k++)
            out[k] = sums[0][threadIdx.x * W + k];
    }
}

/* Adds the sums of the chunks, [chunks, SUMS, channels], by blocks of CHUNK_CHANNELS channels
 * and CHUNK_ROWS rows: each row takes every CHUNK_ROWS-th chunk, then a tree adds the rows; in
 * double, in an order that depends on the number of chunks alone. Threads of row 0 get the sums of
 * their channel (below `channels`); all threads of the block must call it. */
enum { CHUNK_CHANNELS = 32, CHUNK_ROWS = 32 };

static inline dim3 chunk_block() {
    return dim3(CHUNK_CHANNELS, CHUNK_ROWS);
}
static inline dim3 chunk_grid(int channels) {
    return dim3((channels + CHUNK_CHANNELS - 1) / CHUNK_CHANNELS);
}

template <int SUMS> struct chunk_sums { double v[SUMS]; };

template <int SUMS>
static __device__ __forceinline__ chunk_sums<SUMS> add_chunks(const float *partial, int chunks,
                                                              int channels) {
    __shared__ double tree[SUMS][CHUNK_ROWS][CHUNK_CHANNELS];
    const int c = static_cast<int>(blockIdx.x * CHUNK_CHANNELS + threadIdx.x);
    chunk_sums<SUMS> sum = {};
    if (c < channels) {
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.y); i < chunks; i += CHUNK_ROWS)
#pragma unroll
            for (int s = 0; s < SUMS; s++)
                sum.v[s] += static_cast<double>(
                    partial[(static_cast<size_t>(i) * SUMS + s) * channels + c]);
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        tree[s][threadIdx.y][threadIdx.x] = sum.v[s];
    __syncthreads();
    for (unsigned half = CHUNK_ROWS / 2; half > 0; half /= 2) {
        if (threadIdx.y < half) {
#pragma unroll
            for (int s = 0; s < SUMS; s++)
                tree[s][threadIdx.y][threadIdx.x] += tree[s][threadIdx.y + half][threadIdx.x];
        }
        __syncthreads();
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        sum.v[s] = tree[s][0][threadIdx.x];
    return sum;
}

/* The coefficients of channel C from its sums of g and of g times the normalised x. In double: the
 * last one is a difference of numbers that may be nearly equal. */
static __device__ __forceinline__ void write_coefficients(const struct norm_coefficients_args &args,
                                                          int c, double dgamma, double dbeta) {
    double rows = static_cast<double>(args.rows);
    double invstd = args.invstd[c];
    double scale = args.gamma[c] * invstd;
    double slope = -scale * invstd * dgamma / rows;
    args.coefficients[c] = static_cast<float>(scale);
    args.coefficients[args.channels + c] = static_cast<float>(slope);
    args.coefficients[2 * args.channels + c] =
        static_cast<float>(-scale * dbeta / rows - slope * static_cast<double>(args.mean[c]));
}

/* dgamma, dbeta and the coefficients of one norm from its sums of g and of g times the centred x.
 */
static __device__ __forceinline__ void finish_norm(const struct norm_args &norm, float *dgamma,
                                                   float *dbeta, float *coefficients, size_t rows,
                                                   int channels, int c, double sum,
                                                   double centred) {
    double scaled = centred * static_cast<double>(norm.invstd[c]);
    dbeta[c] = static_cast<float>(sum);
    dgamma[c] = static_cast<float>(scaled);
    const struct norm_coefficients_args args = {norm.gamma, norm.mean,    norm.invstd, dgamma,
                                                dbeta,      coefficients, rows,        channels};
    write_coefficients(args, c, scaled, sum);
}

#endif
