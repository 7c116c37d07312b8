/* Remaining steps of a batch norm that is fused with the convolutions before and after it: the
 * finalize step between them, the result if no convolution takes it, and the last pass of the
 * gradient. */
#include "trainer/backend/cuda/kernels/norm.cuh"

/* Returns VALUE clamped to the range of T: a channel without variance has a scale and a bias beyond
 * f16, and infinity minus infinity would be NaN. */
template <typename T> static __device__ __forceinline__ T narrow_finite(double value) {
    return narrow<T>(static_cast<float>(value));
}
template <> __device__ __forceinline__ __half narrow_finite<__half>(double value) {
    const double most = 65504;
    value = value > most ? most : value;
    value = value < -most ? -most : value; /* NaN stays */
    return narrow<__half>(static_cast<float>(value));
}

/* Bytes moved: 24 read and 16 written per channel, and its scale and bias. */
template <typename T>
static __global__ void
norm_finalize_kernel(const __grid_constant__ struct norm_finalize_args args) {
    wait_for_others();
    FOR_EACH_ITEM(c, static_cast<size_t>(args.channels)) {
        double count = static_cast<double>(args.rows);
        double mean = static_cast<double>(args.sum[c]) / count;
        double variance = static_cast<double>(args.square_sum[c]) / count - mean * mean;
        variance = variance < 0 ? 0 : variance;
        double invstd = 1.0 / sqrt(variance + static_cast<double>(args.epsilon));
        double scale = static_cast<double>(args.gamma[c]) * invstd;
        args.mean[c] = static_cast<float>(mean);
        args.invstd[c] = static_cast<float>(invstd);
        static_cast<T *>(args.scale)[c] = narrow_finite<T>(scale);
        static_cast<T *>(args.bias)[c] =
            narrow_finite<T>(static_cast<double>(args.beta[c]) - mean * scale);
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
        enqueue_early(norm_finalize_kernel<T>, blocks_for(static_cast<size_t>(args->channels)),
                      THREADS, stream, *args);
        return launch_status();
    });
}

template <typename T, int W>
static __device__ __forceinline__ affine<W> stored_affine(const void *scale, const void *bias,
                                                          int c) {
    return {widened<T, W>(raw_at<T, W>(scale, c)), widened<T, W>(raw_at<T, W>(bias, c))};
}

/* Bytes moved: x, side and y once. */
template <typename T, int W>
static __global__ void __launch_bounds__(NORM_THREADS)
    norm_apply_kernel(const __grid_constant__ struct norm_apply_args args) {
    wait_for_others();
    const int c = own_channel<W>();
    if (c >= args.channels)
        return;
    join_side<W> side = {args.side, args.scale2 != nullptr, {}};
    if (side.dual)
        side.norm = stored_affine<T, W>(args.scale2, args.bias2, c);
    apply_norm<T, W>(args.x, stored_affine<T, W>(args.scale, args.bias, c), side, true, args.y,
                     args.rows, args.channels, c);
}

cudaError_t launch_norm_apply(cudaStream_t stream, enum dtype type,
                              const struct norm_apply_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        enqueue_early(norm_apply_kernel<T, W>, norm_grid<W>(args->channels, args->chunks),
                      norm_block(), stream, *args);
        return launch_status();
    });
}

/* dx may be g or x: a row is read before it is written. Bytes moved: g, x and dx once. */
template <typename T, int W>
static __global__ void __launch_bounds__(NORM_THREADS, 3)
    norm_grad_apply_kernel(const __grid_constant__ struct norm_grad_apply_args args) {
    wait_for_others();
    const int c = own_channel<W>();
    if (c >= args.channels)
        return;
    grad_affine<W> coefficients;
    coefficients.set(args.coefficients, args.channels, c);
    struct operands {
        packet<T, W> g, x;
    };
    walk_rows<4>(
        args.rows,
        [&](size_t r) {
            size_t at = r * args.channels + c;
            return operands{raw_at<T, W>(args.g, at), raw_at<T, W>(args.x, at)};
        },
        [&](size_t r, const operands &o) {
            lane<W> dx;
#pragma unroll
            for (int k = 0; k < W; k++)
                dx.v[k] = coefficients.at(k, widen(o.g.v[k]), widen(o.x.v[k]));
            store<T, W>(static_cast<T *>(args.dx) + r * args.channels + c, dx);
        });
}

cudaError_t launch_norm_grad_apply(cudaStream_t stream, enum dtype type,
                                   const struct norm_grad_apply_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        enqueue_early(norm_grad_apply_kernel<T, W>, norm_grid<W>(args->channels, args->chunks),
                      norm_block(), stream, *args);
        return launch_status();
    });
}
