/* Batch norm, backward (Ioffe and Szegedy 2015, section 3): one pass for the two sums of a channel,
 * one that applies dx = a g + b x + c. g is the gradient after the mask; the second pass computes
 * it again rather than storing it. Two norms that share a join are handled together (DUAL). */
#include "trainer/backend/cuda/kernels/norm.cuh"
#include "trainer/backend/cuda/kernels/pool.cuh"

/* Three kernels: sums by chunks, their total with the coefficients of each channel, and dx. A
 * kernel is a template over the type, the width of packets and its source of g: masked, with or
 * without a second norm, or masked_pool. All have the same shape, a walk over rows with fetch() and
 * gradient(), so that loads of a row are issued before its arithmetic.
 *
 * Both passes read everything. Storing g between them would cost a write and a read of it, and
 * saves only dy2 and y. */

/* The values of a row, as stored in memory. Packets that a form lacks are never loaded and cost no
 * registers after compilation. */
template <typename T, int W> struct grad_operands { packet<T, W> x, x2, dy, dy2, y; };

/* Operands of both passes, to compute the masked gradient g of the packet of channels at C: FETCH
 * loads a row, GRADIENT computes g from it. Without a pool; the mask is y > 0 if y is available,
 * else norm(x) (+ norm2(x2)) > 0, computed again. An object of it lives in registers: the
 * constructor loads the factors of its channels once, before the walk over rows. */
template <typename T, int W, bool DUAL_> struct masked {
    static constexpr bool DUAL = DUAL_;
    using operands = grad_operands<T, W>;
    const struct norm_backward_args &args;
    const int c;
    const bool computed;
    affine<W> first, second;

    __device__ __forceinline__ masked(const struct norm_backward_args &a, int channel)
        : args(a), c(channel), computed(a.relu && a.y == nullptr), first(), second() {
        if (computed)
            first = batch_affine(a.first);
        if (computed && DUAL)
            second = batch_affine(a.second);
    }

    __device__ __forceinline__ affine<W> batch_affine(const struct norm_args &norm) const {
        return affine_of<W>(norm, c, load_f32<W>(norm.mean + c), load_f32<W>(norm.invstd + c));
    }

    __device__ __forceinline__ grad_operands<T, W> fetch(size_t r) const {
        const size_t at = r * args.channels + c;
        grad_operands<T, W> o = {};
        o.x = raw_at<T, W>(args.first.x, at);
        o.dy = raw_at<T, W>(args.dy, at);
        if (DUAL)
            o.x2 = raw_at<T, W>(args.second.x, at);
        if (args.dy2 != nullptr)
            o.dy2 = raw_at<T, W>(args.dy2, at);
        if (args.y != nullptr)
            o.y = raw_at<T, W>(args.y, at);
        return o;
    }

    __device__ __forceinline__ float gradient(const grad_operands<T, W> &o, int k) const {
        float g = widen(o.dy.v[k]);
        if (args.dy2 != nullptr)
            g += widen(o.dy2.v[k]);
        float y = 1;
        if (args.y != nullptr)
            y = widen(o.y.v[k]);
        else if (computed)
            y = first.at(k, widen(o.x.v[k])) + (DUAL ? second.at(k, widen(o.x2.v[k])) : 0);
        return relu_passes_float(y) ? g : 0;
    }
};

/* The same after a max pool: the gradient of an element is gathered from the windows that have it
 * as their maximum. Both passes gather, so dx of the pool never reaches memory. The mask is
 * computed from x in any case, since the normalized image was never stored. Windows overlap, so up
 * to a few dys are added for an element; their order is fixed. */
template <typename T, int W> struct masked_pool {
    static constexpr bool DUAL = false;
    struct operands {
        packet<T, W> x, x2;
        lane<W> g;
    };
    const struct norm_backward_args &args;
    const int c;
    const affine<W> norm;

    __device__ __forceinline__ masked_pool(const struct norm_backward_args &a, int channel)
        : args(a), c(channel),
          norm(affine_of<W>(a.first, channel, load_f32<W>(a.first.mean + channel),
                            load_f32<W>(a.first.invstd + channel))) {
    }

    __device__ __forceinline__ operands fetch(size_t r) const {
        operands o = {raw_at<T, W>(args.first.x, r * args.channels + c), {}, {}};
        o.g = pool_gather<T, W>(args.pool, pixel_at(r, args.pool.height, args.pool.width), c,
                                static_cast<const T *>(args.dy), static_cast<const T *>(args.dy2),
                                args.index);
        return o;
    }

    __device__ __forceinline__ float gradient(const operands &o, int k) const {
        return relu_passes_float(norm.at(k, widen(o.x.v[k]))) ? o.g.v[k] : 0;
    }
};

/* Bytes moved: dy and x, and dy2, y and x2 if present, once. Sums are f32 within a thread and a
 * block, of g and of g times the centred x. Lanes past the last channel stay, because reduce_rows()
 * has barriers; they add zeros and write nothing. */
template <typename T, int W, typename Source>
static __global__ void __launch_bounds__(NORM_THREADS, 2)
    norm_backward_reduce_kernel(const __grid_constant__ struct norm_backward_args args) {
    wait_for_others();
    constexpr bool DUAL = Source::DUAL;
    const int c = own_channel<W>();
    const bool inside = c < args.channels;
    lane<W> sum = {}, first = {}, second = {};
    if (inside) {
        const Source source(args, c);
        const lane<W> mean = load_f32<W>(args.first.mean + c);
        lane<W> mean2 = {};
        if (DUAL)
            mean2 = load_f32<W>(args.second.mean + c);
        walk_rows<1>(
            args.rows, [&](size_t r) { return source.fetch(r); },
            [&](size_t, const typename Source::operands &o) {
#pragma unroll
                for (int k = 0; k < W; k++) {
                    float g = source.gradient(o, k);
                    sum.v[k] += g;
                    first.v[k] += g * (widen(o.x.v[k]) - mean.v[k]);
                    if (DUAL)
                        second.v[k] += g * (widen(o.x2.v[k]) - mean2.v[k]);
                }
            });
    }
    constexpr int SUMS = DUAL ? 3 : 2;
    float *out = args.partial + static_cast<size_t>(blockIdx.y) * SUMS * args.channels + c;
    reduce_rows<W>(sum, inside, out);
    reduce_rows<W>(first, inside, out + args.channels);
    if (DUAL)
        reduce_rows<W>(second, inside, out + 2 * args.channels);
}

/* The arguments of one launch for several norms. They are passed by value, in the constant memory
 * of the launch. */
struct norms {
    struct norm_coefficients_args norm[LAUNCH_NORMS_MAX];
};

/* Norm blockIdx.y. Bytes moved: 20 read and 12 written per channel. After cuDNN's fused data
 * gradient (dnn/step_conv.c), which gives dgamma and dbeta only. */
static __global__ void norm_coefficients_kernel(const __grid_constant__ struct norms args) {
    wait_for_others();
    const struct norm_coefficients_args &norm = args.norm[blockIdx.y];
    FOR_EACH_ITEM(c, static_cast<size_t>(norm.channels))
    write_coefficients(norm, static_cast<int>(c), norm.dgamma[c], norm.dbeta[c]);
}

/* COUNT is 1, or 2 for a dual join; the grid is wide enough for the larger one. Each block of the
 * grid's y handles one norm. */
cudaError_t launch_norm_coefficients(cudaStream_t stream, const struct norm_coefficients_args *args,
                                     int count) {
    struct norms norms = {};
    int channels = 0;
    if (count < 1 || count > LAUNCH_NORMS_MAX)
        return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++) {
        norms.norm[i] = args[i];
        channels = args[i].channels > channels ? args[i].channels : channels;
    }
    enqueue_early(norm_coefficients_kernel,
                  dim3(blocks_for(static_cast<size_t>(channels)), static_cast<unsigned>(count)),
                  THREADS, stream, norms);
    return launch_status();
}

/* Bytes moved: 8 per channel and chunk, 12 where two norms share a join. Coefficients of the second
 * norm follow those of the first, three rows each. In double, in the order of the chunks. */
template <bool DUAL>
static __global__ void __launch_bounds__(CHUNK_CHANNELS *CHUNK_ROWS, 1)
    norm_backward_finish_kernel(const __grid_constant__ struct norm_backward_args args) {
    wait_for_others();
    constexpr int SUMS = DUAL ? 3 : 2;
    const chunk_sums<SUMS> sums = add_chunks<SUMS>(args.partial, args.chunks, args.channels);
    const int c = static_cast<int>(blockIdx.x * CHUNK_CHANNELS + threadIdx.x);
    if (threadIdx.y != 0 || c >= args.channels)
        return;
    finish_norm(args.first, args.dgamma, args.dbeta, args.coefficients, args.rows, args.channels, c,
                sums.v[0], sums.v[1]);
    if (DUAL)
        finish_norm(args.second, args.dgamma2, args.dbeta2, args.coefficients + 3 * args.channels,
                    args.rows, args.channels, c, sums.v[0], sums.v[SUMS - 1]);
}

/* Bytes moved: everything that was read for the sums, once more, and dx and dside if they are
 * requested. The side's result is dx of the second norm, or g itself if the side of the join has no
 * norm. Lanes past the last channel may leave here, because no barrier follows. */
template <typename T, int W, typename Source>
static __global__ void __launch_bounds__(NORM_THREADS, 2)
    norm_backward_apply_kernel(const __grid_constant__ struct norm_backward_args args) {
    wait_for_others();
    constexpr bool DUAL = Source::DUAL;
    const int c = own_channel<W>();
    if (c >= args.channels)
        return;
    const Source source(args, c);
    grad_affine<W> first, second = {};
    first.set(args.coefficients, args.channels, c);
    if (DUAL)
        second.set(args.coefficients + 3 * args.channels, args.channels, c);
    walk_rows<1>(
        args.rows, [&](size_t r) { return source.fetch(r); },
        [&](size_t r, const typename Source::operands &o) {
            const size_t at = r * args.channels + c;
            lane<W> dx, dside;
#pragma unroll
            for (int k = 0; k < W; k++) {
                float g = source.gradient(o, k);
                dx.v[k] = first.at(k, g, widen(o.x.v[k]));
                dside.v[k] = DUAL ? second.at(k, g, widen(o.x2.v[k])) : g;
            }
            if (args.dside != nullptr)
                store<T, W>(static_cast<T *>(args.dside) + at, dside);
            if (args.dx != nullptr)
                store<T, W>(static_cast<T *>(args.dx) + at, dx);
        });
}

/* The first two are needed even if dx is not: they make dgamma and dbeta. All three may begin
 * before the preceding one has ended (vec.cuh). Sums, totals and dx are enqueued in one stream. */
template <typename T, int W, typename Source>
static cudaError_t backward(cudaStream_t stream, const struct norm_backward_args *args) {
    const dim3 grid = norm_grid<W>(args->channels, args->chunks);
    enqueue_early(norm_backward_reduce_kernel<T, W, Source>, grid, norm_block(), stream, *args);
    enqueue_early(norm_backward_finish_kernel<Source::DUAL>, chunk_grid(args->channels),
                  chunk_block(), stream, *args);
    enqueue_early(norm_backward_apply_kernel<T, W, Source>, grid, norm_block(), stream, *args);
    return launch_status();
}

/* The form follows from the arguments: an index of maxima means a pool, a second x means two norms.
 * The number of chunks is the caller's, which has allocated the partial sums. */
cudaError_t launch_norm_backward(cudaStream_t stream, enum dtype type,
                                 const struct norm_backward_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        if (args->index != nullptr)
            return backward<T, W, masked_pool<T, W>>(stream, args);
        if (args->second.x != nullptr)
            return backward<T, W, masked<T, W, true>>(stream, args);
        return backward<T, W, masked<T, W, false>>(stream, args);
    });
}
