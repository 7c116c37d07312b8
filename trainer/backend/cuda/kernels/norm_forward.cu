/* Batch norm, forward: one pass for the statistics, one to apply them.
 *
 * The activation is a matrix [rows, channels]. A block takes LANES packets of neighbouring
 * channels and a chunk of the rows; its threads hold sums in f32, relative to a value of the
 * channel, so that a large mean does not eat the variance. Partial sums are added in double, in an
 * order that does not depend on how blocks were scheduled. */
#include "trainer/backend/cuda/kernels/norm.cuh"
#include "trainer/backend/cuda/kernels/pool.cuh"

/* Statistics are a kernel of partial sums and one that adds them and updates the running averages;
 * then comes the normalization, alone, with a join, or inside a max pool. In inference the running
 * averages take the place of the first two. A variance by two passes over x would be exact without
 * a shift, but costs another read of the largest tensors. */

/* About eight blocks a multiprocessor, but no more chunks than there are blocks of rows, and at
 * most LAUNCH_CHUNKS_MAX, for which `partial` has room. MULTIPROCESSORS enters it, so sums differ
 * between kinds of GPU, but not between runs on one. */
int launch_norm_chunks(size_t rows, int channels, int multiprocessors) {
    int groups = (channels + 8 * LANES - 1) / (8 * LANES);
    size_t chunks = static_cast<size_t>(multiprocessors) * 8 / static_cast<size_t>(groups) + 1;
    size_t most = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    if (chunks > most)
        chunks = most;
    const size_t ceiling = LAUNCH_CHUNKS_MAX;
    return static_cast<int>(chunks < ceiling ? chunks : ceiling);
}

/* The value that a channel's sums are relative to: the median of three of its values, far apart in
 * memory, so that one outlier does not make the variance cancel. */
static __device__ __forceinline__ float median(float a, float b, float c) {
    return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

/* The finishing kernel reads the same three values again, which gives the same shift. */
template <typename T, int W>
static __device__ __forceinline__ lane<W> center_of(const T *column, size_t rows, int channels) {
    lane<W> a = load<T, W>(column), b = load<T, W>(column + rows / 3 * channels);
    const lane<W> c = load<T, W>(column + rows * 2 / 3 * channels);
#pragma unroll
    for (int k = 0; k < W; k++)
        a.v[k] = median(a.v[k], b.v[k], c.v[k]);
    return a;
}

/* Bytes moved: x once. Four rows are in flight, as the loop does little but load. */
template <typename T, int W>
static __global__ void __launch_bounds__(NORM_THREADS)
    norm_statistics_kernel(const T *x, float *partial, size_t rows, int channels) {
    wait_for_others();
    const int c = own_channel<W>();
    const bool inside = c < channels;
    lane<W> sum = {}, square = {};
    if (inside) {
        const lane<W> shift = center_of<T, W>(x + c, rows, channels);
        walk_rows<4>(
            rows, [=](size_t r) { return raw_at<T, W>(x, r * channels + c); },
            [&](size_t, const packet<T, W> &raw) {
#pragma unroll
                for (int k = 0; k < W; k++) {
                    float d = widen(raw.v[k]) - shift.v[k];
                    sum.v[k] += d;
                    square.v[k] += d * d;
                }
            });
    }
    float *out = partial + static_cast<size_t>(blockIdx.y) * 2 * channels + c;
    reduce_rows<W>(sum, inside, out);
    reduce_rows<W>(square, inside, out + channels);
}

/* Turns partial sums into mean and invstd, and updates the running statistics. Bytes moved: 8 per
 * channel and chunk. The variance is clamped at 0, below which rounding may push it; the running
 * one is unbiased. A batch with one row keeps the biased one. */
template <typename T>
static __global__ void __launch_bounds__(CHUNK_CHANNELS *CHUNK_ROWS, 1)
    norm_finish_statistics_kernel(const __grid_constant__ struct norm_args norm,
                                  const float *partial, int chunks, size_t rows, int channels,
                                  float epsilon, float momentum) {
    wait_for_others();
    const chunk_sums<2> sums = add_chunks<2>(partial, chunks, channels);
    const int c = static_cast<int>(blockIdx.x * CHUNK_CHANNELS + threadIdx.x);
    if (threadIdx.y != 0 || c >= channels)
        return;
    double count = static_cast<double>(rows);
    double offset = sums.v[0] / count;
    double variance = sums.v[1] / count - offset * offset;
    variance = variance < 0 ? 0 : variance;
    const T *x = static_cast<const T *>(norm.x) + c;
    double mean = static_cast<double>(center_of<T, 1>(x, rows, channels).v[0]) + offset;
    norm.mean[c] = static_cast<float>(mean);
    norm.invstd[c] = static_cast<float>(1.0 / sqrt(variance + static_cast<double>(epsilon)));
    double unbiased = rows > 1 ? variance * count / (count - 1) : variance;
    norm.running_mean[c] += momentum * (static_cast<float>(mean) - norm.running_mean[c]);
    norm.running_variance[c] +=
        momentum * (static_cast<float>(unbiased) - norm.running_variance[c]);
}

/* y = x * scale + bias, from the batch's statistics or the running ones. INFERENCE uses the running
 * ones, which are variances, not their inverse roots. */
template <int W>
static __device__ __forceinline__ affine<W> affine_by(const struct norm_args &norm, int c,
                                                      bool inference, float epsilon) {
    if (!inference)
        return affine_of<W>(norm, c, load_f32<W>(norm.mean + c), load_f32<W>(norm.invstd + c));
    lane<W> invstd = load_f32<W>(norm.running_variance + c);
#pragma unroll
    for (int k = 0; k < W; k++)
        invstd.v[k] = rsqrtf(invstd.v[k] + epsilon);
    return affine_of<W>(norm, c, load_f32<W>(norm.running_mean + c), invstd);
}

/* Bytes moved: x, the side if there is one, and y once. A side is another activation or, if
 * `second` has an x, another norm of one. */
template <typename T, int W>
static __global__ void __launch_bounds__(NORM_THREADS)
    norm_forward_apply_kernel(const __grid_constant__ struct norm_forward_args args) {
    wait_for_others();
    const int c = own_channel<W>();
    if (c >= args.channels)
        return;
    join_side<W> side = {args.side, args.second.x != nullptr, {}};
    if (side.dual) {
        side.x = args.second.x;
        side.norm = affine_by<W>(args.second, c, args.inference, args.epsilon);
    }
    apply_norm<T, W>(args.first.x, affine_by<W>(args.first, c, args.inference, args.epsilon), side,
                     args.relu, args.y, args.rows, args.channels, c);
}

/* y = max_pool(relu(norm(x))): the input of the pool never reaches memory. Bytes moved: x once
 * (windows overlap in the caches), y and a byte a value. Rows are those of the pool's result. */
template <typename T, int W>
static __global__ void __launch_bounds__(NORM_THREADS)
    norm_pool_kernel(const __grid_constant__ struct norm_forward_args args) {
    wait_for_others();
    const int c = own_channel<W>();
    if (c >= args.channels)
        return;
    const affine<W> norm = affine_by<W>(args.first, c, args.inference, args.epsilon);
    const struct pool_args &s = args.pool;
    const T *x = static_cast<const T *>(args.first.x);
    walk_rows<1>(
        static_cast<size_t>(s.batch) * s.out_height * s.out_width,
        [&](size_t r) {
            return pool_window<T, W>(s, pixel_at(r, s.out_height, s.out_width), c, x,
                                     [&](int k, float v) { return relu_float(norm.at(k, v)); });
        },
        [&](size_t r, const pooled_max<W> &m) {
            const size_t at = r * args.channels + c;
            store<T, W>(static_cast<T *>(args.y) + at, m.best);
            *reinterpret_cast<packet<uint8_t, W> *>(args.index + at) = m.cell;
        });
}

/* Two launches for each norm of a join. PARTIAL is used again by the second norm, after the first
 * one's sums were added. */
template <typename T, int W>
static void statistics(cudaStream_t stream, const struct norm_forward_args *args,
                       const struct norm_args *norm) {
    enqueue_early(norm_statistics_kernel<T, W>, norm_grid<W>(args->channels, args->chunks),
                  norm_block(), stream, static_cast<const T *>(norm->x), args->partial, args->rows,
                  args->channels);
    enqueue_early(norm_finish_statistics_kernel<T>, chunk_grid(args->channels), chunk_block(),
                  stream, *norm, args->partial, args->chunks, args->rows, args->channels,
                  args->epsilon, args->momentum);
}

/* Without an output and an index only the statistics are wanted, as before a convolution that
 * applies the norm itself. */
template <typename T, int W>
static cudaError_t forward(cudaStream_t stream, const struct norm_forward_args *args) {
    if (!args->inference) {
        statistics<T, W>(stream, args, &args->first);
        if (args->second.x != nullptr)
            statistics<T, W>(stream, args, &args->second);
    }
    const dim3 grid = norm_grid<W>(args->channels, args->chunks);
    if (args->index != nullptr)
        enqueue_early(norm_pool_kernel<T, W>, grid, norm_block(), stream, *args);
    else if (args->y != nullptr)
        enqueue_early(norm_forward_apply_kernel<T, W>, grid, norm_block(), stream, *args);
    return launch_status();
}

cudaError_t launch_norm_forward(cudaStream_t stream, enum dtype type,
                                const struct norm_forward_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        return forward<typename decltype(tag)::type, decltype(width)::value>(stream, args);
    });
}
