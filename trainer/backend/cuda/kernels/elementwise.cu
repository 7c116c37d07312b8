/* Passes that touch each element once: their only cost is the bytes they move. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/norm.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"

/* Activation functions and their gradients, the input's normalization, conversions between f32 and
 * the activation's type, and sums of columns. Functions of math/pointwise.h become kernels by their
 * table: a new row there is a new kernel here, without another line.
 *
 * Switches of the launchers that apply to the whole process are set here, too (vec.cuh declares
 * them). */

/* One specialization for each function; READS is its number of tensors. */
template <enum pointwise> struct pointwise_body;
#define BODY(kind, name, tensors, value)                                                           \
    template <> struct pointwise_body<POINTWISE_##kind> {                                          \
        static constexpr int reads = tensors;                                                      \
        static __device__ __forceinline__ float at(float a, float b) {                             \
            return pointwise_##name##_float(a, b);                                                 \
        }                                                                                          \
    };
POINTWISE(BODY)

/* Bytes moved: a, b if F has one, and y once. A function of one tensor reads no second one. Y may
 * be A or B. */
template <typename T, int W, enum pointwise F>
static __global__ void pointwise_kernel(const T *a, const T *b, T *y, size_t packets) {
    FOR_EACH_ITEM(i, packets) {
        lane<W> p = load<T, W>(a + i * W);
        lane<W> q = pointwise_body<F>::reads == 2 ? load<T, W>(b + i * W) : p;
#pragma unroll
        for (int k = 0; k < W; k++)
            p.v[k] = pointwise_body<F>::at(p.v[k], q.v[k]);
        store<T, W>(y + i * W, p);
    }
}

/* Neighbouring elements are all that counts, so packets follow from COUNT. */
template <enum pointwise F>
static cudaError_t pointwise_of(cudaStream_t stream, enum dtype type, const void *a, const void *b,
                                void *y, size_t count) {
    return with_packets(type, count, [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        enqueue(pointwise_kernel<T, W, F>, blocks_for(count / W), THREADS, stream,
                static_cast<const T *>(a), static_cast<const T *>(b), static_cast<T *>(y),
                count / W);
        return launch_status();
    });
}

/* From a number known at run time to a kernel with the function inlined. */
cudaError_t launch_pointwise(cudaStream_t stream, enum pointwise function, enum dtype type,
                             const void *a, const void *b, void *y, size_t count) {
    switch (function) {
#define CASE(kind, ...)                                                                            \
    case POINTWISE_##kind:                                                                         \
        return pointwise_of<POINTWISE_##kind>(stream, type, a, b, y, count);
        POINTWISE(CASE)
    default:
        return cudaErrorInvalidValue;
    }
}

/* W channels are written at once. Bytes moved: 3 read per pixel, y once. A thread has one pixel.
 * Channels beyond the third are zeros. */
template <typename T, int W>
static __global__ void normalize_kernel(const __grid_constant__ struct normalize_args args) {
    T *y = static_cast<T *>(args.y);
    FOR_EACH_ITEM(i, args.pixels) {
        for (int first = 0; first < args.channels; first += W) {
            lane<W> out = {};
#pragma unroll
            for (int k = 0; k < W; k++) {
                const int c = first + k;
                if (c < 3)
                    out.v[k] =
                        static_cast<float>(args.image[i * 3 + c]) * args.scale[c] + args.bias[c];
            }
            store<T, W>(y + i * args.channels + first, out);
        }
    }
}

/* Before the first launch, as steps that were recorded keep what they had. The setting is one
 * variable for all streams. */
void launch_overlap(bool overlap) {
    launches_overlap = overlap;
}

/* For simulated GPUs (simulated_gpu.c); COUNT must stay valid until the next call. It is not
 * guarded against several threads that launch. */
void launch_count_in(struct launch_count *count) {
    launches_counted = count;
}

cudaError_t launch_normalize(cudaStream_t stream, enum dtype type,
                             const struct normalize_args *args) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        /* The three channels of a stem are padded with a fourth one for the tensor cores. */
        if (args->channels % 4 == 0)
            enqueue(normalize_kernel<T, 4>, blocks_for(args->pixels), THREADS, stream, *args);
        else
            enqueue(normalize_kernel<T, 1>, blocks_for(args->pixels), THREADS, stream, *args);
        return launch_status();
    });
}

/* Copies rows of one width to rows of another and converts them. Bytes moved: both once. Widths
 * differ only for a stem, which has padded channels; otherwise it is a conversion. What is missing
 * in FROM is zero. */
template <typename To, typename From>
static __global__ void resize_rows_kernel(To *to, const From *from, size_t count, int to_width,
                                          int from_width) {
    FOR_EACH_ITEM(i, count) {
        size_t row = i / to_width;
        int column = static_cast<int>(i - row * to_width);
        to[i] = narrow<To>(column < from_width ? widen(from[row * from_width + column]) : 0.0f);
    }
}

/* Also makes the half-precision copy of all parameters, as one row. */
cudaError_t launch_pack(cudaStream_t stream, enum dtype to, void *packed, const float *values,
                        size_t rows, int to_width, int from_width) {
    return with_type(to, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = rows * static_cast<size_t>(to_width);
        enqueue(resize_rows_kernel<T, float>, blocks_for(count), THREADS, stream,
                static_cast<T *>(packed), values, count, to_width, from_width);
        return launch_status();
    });
}

/* The way back, for gradients that cuDNN has made in the activation's type; padded channels are
 * dropped. */
cudaError_t launch_unpack(cudaStream_t stream, enum dtype from, float *values, const void *packed,
                          size_t rows, int to_width, int from_width) {
    return with_type(from, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = rows * static_cast<size_t>(to_width);
        enqueue(resize_rows_kernel<float, T>, blocks_for(count), THREADS, stream, values,
                static_cast<const T *>(packed), count, to_width, from_width);
        return launch_status();
    });
}

/* Rows that one block adds up in f32; the sums of blocks are added in double. Its threads share the
 * rows, since a single thread would wait for each load. */
enum { COLUMN_ROWS = 256, COLUMN_SIDE = 32 };

/* Depends on ROWS alone, which keeps the order of sums the same on every GPU. */
static inline int column_chunks(int rows) {
    return (rows + COLUMN_ROWS - 1) / COLUMN_ROWS;
}

/* A single chunk writes the result itself. */
size_t launch_column_sum_bytes(int rows, int columns) {
    int chunks = column_chunks(rows);
    return chunks > 1 ? static_cast<size_t>(chunks) * columns * sizeof(float) : 0;
}

/* Computes the sums of chunk blockIdx.y. Bytes moved: x once. Threads of a block are 32 columns by
 * 32 rows; a tree in shared memory adds the rows. */
template <typename T>
static __global__ void column_sum_kernel(float *sums, const T *x, int rows, int columns) {
    wait_for_others();
    __shared__ float tree[COLUMN_SIDE][COLUMN_SIDE];
    const int c = static_cast<int>(blockIdx.x * COLUMN_SIDE + threadIdx.x);
    const int first = static_cast<int>(blockIdx.y) * COLUMN_ROWS;
    const int end = first + COLUMN_ROWS < rows ? first + COLUMN_ROWS : rows;
    float sum = 0;
    if (c < columns) {
#pragma unroll 4
        for (int r = first + static_cast<int>(threadIdx.y); r < end; r += COLUMN_SIDE)
            sum += widen(x[static_cast<size_t>(r) * columns + c]);
    }
    tree[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = COLUMN_SIDE / 2; half > 0; half /= 2) {
        if (threadIdx.y < half)
            tree[threadIdx.y][threadIdx.x] += tree[threadIdx.y + half][threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.y == 0 && c < columns)
        sums[static_cast<size_t>(blockIdx.y) * columns + c] = tree[0][threadIdx.x];
}

/* Bytes moved: 4 per column and chunk. */
static __global__ void add_column_chunks_kernel(float *sums, const float *partial, int chunks,
                                                int columns) {
    wait_for_others();
    const chunk_sums<1> sum = add_chunks<1>(partial, chunks, columns);
    const int c = static_cast<int>(blockIdx.x * CHUNK_CHANNELS + threadIdx.x);
    if (threadIdx.y == 0 && c < columns)
        sums[c] = static_cast<float>(sum.v[0]);
}

/* Two launches at most; both may begin early. PARTIAL is used only if there is more than one
 * chunk. */
cudaError_t launch_column_sum(cudaStream_t stream, enum dtype type, float *sums, const void *x,
                              int rows, int columns, float *partial) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        const int chunks = column_chunks(rows);
        const unsigned blocks = static_cast<unsigned>((columns + COLUMN_SIDE - 1) / COLUMN_SIDE);
        enqueue_early(column_sum_kernel<T>, dim3(blocks, static_cast<unsigned>(chunks)),
                      dim3(COLUMN_SIDE, COLUMN_SIDE), stream, chunks > 1 ? partial : sums,
                      static_cast<const T *>(x), rows, columns);
        if (chunks > 1)
            enqueue_early(add_column_chunks_kernel, chunk_grid(columns), chunk_block(), stream,
                          sums, static_cast<const float *>(partial), chunks, columns);
        return launch_status();
    });
}
