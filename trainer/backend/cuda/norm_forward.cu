/* Batch norm, forward: one pass for the statistics, one to apply them.
 *
 * The activation is a matrix [rows, channels]. A block takes LANES packets of neighbouring
 * channels and a chunk of the rows; its threads hold sums in f32, relative to the first row's
 * values, so that a large mean does not eat the variance. Partial sums are added in double in the
 * order of the chunks: the result does not depend on how blocks were scheduled. */
#include "cuda/launch.h"
#include "cuda/norm.cuh"

int launch_norm_chunks(size_t rows, int channels, int multiprocessors) {
    int groups = (channels + 8 * LANES - 1) / (8 * LANES);
    size_t chunks = static_cast<size_t>(multiprocessors) * 8 / static_cast<size_t>(groups) + 1;
    size_t most = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    if (chunks > most)
        chunks = most;
    const size_t ceiling = LAUNCH_CHUNKS_MAX;
    return static_cast<int>(chunks < ceiling ? chunks : ceiling);
}

template <typename T, int W>
static __global__ void statistics_kernel(const T *x, float *partial, size_t rows, int channels) {
    int packet = static_cast<int>(blockIdx.x * LANES + threadIdx.x);
    bool inside = packet * W < channels;
    lane<W> shift = {}, sum = {}, square = {};
    if (inside) {
        const T *column = x + packet * W;
        shift = load<T, W>(column);
        for (size_t r = blockIdx.y * static_cast<size_t>(ROWS_PER_BLOCK) + threadIdx.y; r < rows;
             r += static_cast<size_t>(gridDim.y) * ROWS_PER_BLOCK) {
            lane<W> v = load<T, W>(column + r * channels);
#pragma unroll
            for (int k = 0; k < W; k++) {
                float d = v.v[k] - shift.v[k];
                sum.v[k] += d;
                square.v[k] += d * d;
            }
        }
    }
    float *out = partial + static_cast<size_t>(blockIdx.y) * 2 * channels + packet * W;
    reduce_rows<W>(sum, inside, out);
    reduce_rows<W>(square, inside, out + channels);
}

/* One thread a channel: partial sums to mean and invstd, and the running statistics. */
template <typename T>
static __global__ void finish_statistics_kernel(struct norm_args norm, const float *partial,
                                                int chunks, size_t rows, int channels,
                                                float epsilon, float momentum) {
    FOR_EACH_ITEM(c, static_cast<size_t>(channels)) {
        double sum = 0, square = 0;
        for (int i = 0; i < chunks; i++) {
            const float *chunk = partial + static_cast<size_t>(i) * 2 * channels;
            sum += chunk[c];
            square += chunk[channels + c];
        }
        double count = static_cast<double>(rows);
        double offset = sum / count;
        double variance = square / count - offset * offset;
        variance = variance > 0 ? variance : 0;
        double mean = static_cast<double>(widen(static_cast<const T *>(norm.x)[c])) + offset;
        norm.mean[c] = static_cast<float>(mean);
        norm.invstd[c] = static_cast<float>(1.0 / sqrt(variance + static_cast<double>(epsilon)));
        double unbiased = rows > 1 ? variance * count / (count - 1) : variance;
        norm.running_mean[c] += momentum * (static_cast<float>(mean) - norm.running_mean[c]);
        norm.running_variance[c] +=
            momentum * (static_cast<float>(unbiased) - norm.running_variance[c]);
    }
}

template <int W> struct affine { lane<W> scale, bias; };

/* y = x * scale + bias for the packet of channels at C. */
template <int W>
static __device__ __forceinline__ affine<W> affine_of(const struct norm_args &norm, int c,
                                                      bool inference, float epsilon) {
    affine<W> a;
#pragma unroll
    for (int k = 0; k < W; k++) {
        float mean = inference ? norm.running_mean[c + k] : norm.mean[c + k];
        float invstd =
            inference ? rsqrtf(norm.running_variance[c + k] + epsilon) : norm.invstd[c + k];
        a.scale.v[k] = norm.gamma[c + k] * invstd;
        a.bias.v[k] = norm.beta[c + k] - mean * a.scale.v[k];
    }
    return a;
}

template <typename T, int W> static __global__ void apply_kernel(struct norm_forward_args args) {
    int packet = static_cast<int>(blockIdx.x * LANES + threadIdx.x);
    int c = packet * W;
    if (c >= args.channels)
        return;
    affine<W> first = affine_of<W>(args.first, c, args.inference, args.epsilon);
    affine<W> second = {};
    if (args.second.x != nullptr)
        second = affine_of<W>(args.second, c, args.inference, args.epsilon);
    for (size_t r = blockIdx.y * static_cast<size_t>(ROWS_PER_BLOCK) + threadIdx.y; r < args.rows;
         r += static_cast<size_t>(gridDim.y) * ROWS_PER_BLOCK) {
        size_t at = r * args.channels + c;
        lane<W> v = load<T, W>(static_cast<const T *>(args.first.x) + at);
        lane<W> other = {};
        if (args.second.x != nullptr)
            other = load<T, W>(static_cast<const T *>(args.second.x) + at);
        else if (args.side != nullptr)
            other = load<T, W>(static_cast<const T *>(args.side) + at);
#pragma unroll
        for (int k = 0; k < W; k++) {
            float s = other.v[k];
            if (args.second.x != nullptr)
                s = s * second.scale.v[k] + second.bias.v[k];
            float y = v.v[k] * first.scale.v[k] + first.bias.v[k] + s;
            v.v[k] = args.relu && !(y > 0) ? 0 : y;
        }
        store<T, W>(static_cast<T *>(args.y) + at, v);
    }
}

template <typename T, int W>
static void statistics(cudaStream_t stream, const struct norm_forward_args *args,
                       const struct norm_args *norm, dim3 grid, dim3 block) {
    enqueue(statistics_kernel<T, W>, grid, block, stream, static_cast<const T *>(norm->x),
            args->partial, args->rows, args->channels);
    enqueue(finish_statistics_kernel<T>, blocks_for(static_cast<size_t>(args->channels)), THREADS,
            stream, *norm, args->partial, args->chunks, args->rows, args->channels, args->epsilon,
            args->momentum);
}

template <typename T, int W>
static cudaError_t forward(cudaStream_t stream, const struct norm_forward_args *args) {
    dim3 block(LANES, ROWS_PER_BLOCK);
    dim3 grid((args->channels + LANES * W - 1) / (LANES * W), args->chunks);
    if (!args->inference) {
        statistics<T, W>(stream, args, &args->first, grid, block);
        if (args->second.x != nullptr)
            statistics<T, W>(stream, args, &args->second, grid, block);
    }
    if (args->y != nullptr)
        enqueue(apply_kernel<T, W>, grid, block, stream, *args);
    return cudaPeekAtLastError();
}

cudaError_t launch_norm_forward(cudaStream_t stream, enum dtype type,
                                const struct norm_forward_args *args) {
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        return forward<typename decltype(tag)::type, decltype(width)::value>(stream, args);
    });
}
