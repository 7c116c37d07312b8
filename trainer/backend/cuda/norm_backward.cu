/* Batch norm, backward (Ioffe and Szegedy 2015, section 3): one pass for the two sums a channel
 * needs, one that applies dx = a g + b x + c. g is the gradient behind the mask; it is computed
 * again in the second pass rather than stored. Two norms that share a join are served together. */
#include "cuda/launch.h"
#include "cuda/norm.cuh"

template <typename T, int W>
static __device__ __forceinline__ lane<W> load_at(const void *base, size_t at) {
    return load<T, W>(static_cast<const T *>(base) + at);
}

/* norm(x) = x * scale + bias for the packet of channels at C. */
template <int W> struct affine {
    lane<W> scale, bias;

    __device__ __forceinline__ void set(const struct norm_args &norm, int c) {
#pragma unroll
        for (int k = 0; k < W; k++) {
            scale.v[k] = norm.gamma[c + k] * norm.invstd[c + k];
            bias.v[k] = norm.beta[c + k] - norm.mean[c + k] * scale.v[k];
        }
    }
    __device__ __forceinline__ float at(int k, float x) const {
        return x * scale.v[k] + bias.v[k];
    }
};

/* What both passes need to compute g of the packet of channels at C. The mask is y > 0 where y is
 * at hand, else norm(x) (+ norm2(x2)) > 0, computed again. */
template <typename T, int W> struct masked {
    const struct norm_backward_args &args;
    int c;
    bool dual, computed;
    affine<W> first, second;

    __device__ __forceinline__ masked(const struct norm_backward_args &a, int channel)
        : args(a), c(channel), dual(a.second.x != nullptr), computed(a.relu && a.y == nullptr),
          first(), second() {
        if (computed)
            first.set(a.first, c);
        if (computed && dual)
            second.set(a.second, c);
    }

    __device__ __forceinline__ lane<W> gradient(size_t at, const lane<W> &x,
                                                const lane<W> &x2) const {
        lane<W> g = load_at<T, W>(args.dy, at);
        if (args.dy2 != nullptr) {
            lane<W> more = load_at<T, W>(args.dy2, at);
#pragma unroll
            for (int k = 0; k < W; k++)
                g.v[k] += more.v[k];
        }
        if (args.y != nullptr) {
            lane<W> y = load_at<T, W>(args.y, at);
#pragma unroll
            for (int k = 0; k < W; k++)
                g.v[k] = y.v[k] > 0 ? g.v[k] : 0;
        } else if (computed) {
#pragma unroll
            for (int k = 0; k < W; k++) {
                float y = first.at(k, x.v[k]) + (dual ? second.at(k, x2.v[k]) : 0);
                g.v[k] = y > 0 ? g.v[k] : 0;
            }
        }
        return g;
    }
};

template <typename T, int W> static __global__ void reduce_kernel(struct norm_backward_args args) {
    int packet = static_cast<int>(blockIdx.x * LANES + threadIdx.x);
    int c = packet * W;
    bool inside = c < args.channels;
    bool dual = args.second.x != nullptr;
    lane<W> sum = {}, first = {}, second = {};
    if (inside) {
        masked<T, W> mask(args, c);
        for (size_t r = blockIdx.y * static_cast<size_t>(ROWS_PER_BLOCK) + threadIdx.y;
             r < args.rows; r += static_cast<size_t>(gridDim.y) * ROWS_PER_BLOCK) {
            size_t at = r * args.channels + c;
            lane<W> x = load_at<T, W>(args.first.x, at);
            lane<W> x2 = {};
            if (dual)
                x2 = load_at<T, W>(args.second.x, at);
            lane<W> g = mask.gradient(at, x, x2);
#pragma unroll
            for (int k = 0; k < W; k++) {
                sum.v[k] += g.v[k];
                first.v[k] += g.v[k] * (x.v[k] - args.first.mean[c + k]);
                if (dual)
                    second.v[k] += g.v[k] * (x2.v[k] - args.second.mean[c + k]);
            }
        }
    }
    float *out = args.partial + static_cast<size_t>(blockIdx.y) * 3 * args.channels + c;
    reduce_rows<W>(sum, inside, out);
    reduce_rows<W>(first, inside, out + args.channels);
    if (dual)
        reduce_rows<W>(second, inside, out + 2 * args.channels);
}

/* dgamma, dbeta and the three coefficients of one norm from its two sums. */
static __device__ void finish_norm(const struct norm_args &norm, float *dgamma, float *dbeta,
                                   float *coefficients, int c, int channels, double rows,
                                   double sum, double centred) {
    double invstd = norm.invstd[c];
    double scale = norm.gamma[c] * invstd;
    double slope = -scale * invstd * invstd * centred / rows;
    dbeta[c] = static_cast<float>(sum);
    dgamma[c] = static_cast<float>(centred * invstd);
    coefficients[c] = static_cast<float>(scale);
    coefficients[channels + c] = static_cast<float>(slope);
    coefficients[2 * channels + c] =
        static_cast<float>(-scale * sum / rows - slope * static_cast<double>(norm.mean[c]));
}

static __global__ void finish_kernel(struct norm_backward_args args) {
    FOR_EACH_ITEM(i, static_cast<size_t>(args.channels)) {
        int c = static_cast<int>(i);
        double sum = 0, first = 0, second = 0;
        bool dual = args.second.x != nullptr;
        for (int k = 0; k < args.chunks; k++) {
            const float *chunk = args.partial + static_cast<size_t>(k) * 3 * args.channels + c;
            sum += chunk[0];
            first += chunk[args.channels];
            if (dual)
                second += chunk[2 * args.channels];
        }
        double rows = static_cast<double>(args.rows);
        finish_norm(args.first, args.dgamma, args.dbeta, args.coefficients, c, args.channels, rows,
                    sum, first);
        if (dual)
            finish_norm(args.second, args.dgamma2, args.dbeta2,
                        args.coefficients + 3 * args.channels, c, args.channels, rows, sum, second);
    }
}

template <int W>
static __device__ __forceinline__ lane<W> apply(const float *coefficients, int channels, int c,
                                                const lane<W> &g, const lane<W> &x) {
    lane<W> dx;
#pragma unroll
    for (int k = 0; k < W; k++)
        dx.v[k] = coefficients[c + k] * g.v[k] + coefficients[channels + c + k] * x.v[k] +
                  coefficients[2 * channels + c + k];
    return dx;
}

template <typename T, int W> static __global__ void apply_kernel(struct norm_backward_args args) {
    int c = static_cast<int>(blockIdx.x * LANES + threadIdx.x) * W;
    if (c >= args.channels)
        return;
    masked<T, W> mask(args, c);
    for (size_t r = blockIdx.y * static_cast<size_t>(ROWS_PER_BLOCK) + threadIdx.y; r < args.rows;
         r += static_cast<size_t>(gridDim.y) * ROWS_PER_BLOCK) {
        size_t at = r * args.channels + c;
        lane<W> x = load_at<T, W>(args.first.x, at);
        lane<W> x2 = {};
        if (mask.dual)
            x2 = load_at<T, W>(args.second.x, at);
        lane<W> g = mask.gradient(at, x, x2);
        if (args.dside != nullptr)
            store<T, W>(
                static_cast<T *>(args.dside) + at,
                mask.dual ? apply<W>(args.coefficients + 3 * args.channels, args.channels, c, g, x2)
                          : g);
        if (args.dx != nullptr)
            store<T, W>(static_cast<T *>(args.dx) + at,
                        apply<W>(args.coefficients, args.channels, c, g, x));
    }
}

template <typename T, int W>
static cudaError_t backward(cudaStream_t stream, const struct norm_backward_args *args) {
    dim3 block(LANES, ROWS_PER_BLOCK);
    dim3 grid((args->channels + LANES * W - 1) / (LANES * W), args->chunks);
    enqueue(reduce_kernel<T, W>, grid, block, stream, *args);
    enqueue(finish_kernel, blocks_for(static_cast<size_t>(args->channels)), THREADS, stream, *args);
    enqueue(apply_kernel<T, W>, grid, block, stream, *args);
    return cudaPeekAtLastError();
}

cudaError_t launch_norm_backward(cudaStream_t stream, enum dtype type,
                                 const struct norm_backward_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        return backward<typename decltype(tag)::type, decltype(width)::value>(stream, args);
    });
}
