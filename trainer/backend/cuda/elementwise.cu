/* Passes that touch each element once: their only cost is the bytes they move. */
#include "cuda/launch.h"
#include "cuda/vec.cuh"
#include "kernels/relu.h"

template <typename T, int W, int KIND>
static __global__ void pointwise_kernel(const T *a, const T *b, T *y, size_t packets) {
    FOR_EACH_ITEM(i, packets) {
        lane<W> p = load<T, W>(a + i * W);
        lane<W> q = KIND == LAUNCH_RELU ? p : load<T, W>(b + i * W);
#pragma unroll
        for (int k = 0; k < W; k++) {
            float v = p.v[k];
            if (KIND == LAUNCH_ADD || KIND == LAUNCH_ADD_RELU)
                v += q.v[k];
            if (KIND == LAUNCH_RELU || KIND == LAUNCH_ADD_RELU)
                v = relu_float(v);
            if (KIND == LAUNCH_RELU_GRAD)
                v = relu_passes_float(q.v[k]) ? v : 0;
            p.v[k] = v;
        }
        store<T, W>(y + i * W, p);
    }
}

template <int KIND>
static cudaError_t pointwise(cudaStream_t stream, enum dtype type, const void *a, const void *b,
                             void *y, size_t count) {
    return with_packets(type, count, [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        enqueue(pointwise_kernel<T, W, KIND>, blocks_for(count / W), THREADS, stream,
                static_cast<const T *>(a), static_cast<const T *>(b), static_cast<T *>(y),
                count / W);
        return cudaPeekAtLastError();
    });
}

cudaError_t launch_pointwise(cudaStream_t stream, enum pointwise_kind kind, enum dtype type,
                             const void *a, const void *b, void *y, size_t count) {
    switch (kind) {
    case LAUNCH_RELU:
        return pointwise<LAUNCH_RELU>(stream, type, a, b, y, count);
    case LAUNCH_RELU_GRAD:
        return pointwise<LAUNCH_RELU_GRAD>(stream, type, a, b, y, count);
    case LAUNCH_ADD:
        return pointwise<LAUNCH_ADD>(stream, type, a, b, y, count);
    default:
        return pointwise<LAUNCH_ADD_RELU>(stream, type, a, b, y, count);
    }
}

template <typename T> static __global__ void normalize_kernel(struct normalize_args args) {
    T *y = static_cast<T *>(args.y);
    FOR_EACH_ITEM(i, args.pixels) {
        for (int c = 0; c < args.channels; c++) {
            float v = 0;
            if (c < 3)
                v = static_cast<float>(args.image[i * 3 + c]) * args.scale[c] + args.bias[c];
            y[i * args.channels + c] = narrow<T>(v);
        }
    }
}

cudaError_t launch_normalize(cudaStream_t stream, enum dtype type,
                             const struct normalize_args *args) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(normalize_kernel<T>, blocks_for(args->pixels), THREADS, stream, *args);
        return cudaPeekAtLastError();
    });
}

/* Rows of one width to rows of another, converting on the way. */
template <typename To, typename From>
static __global__ void resize_rows_kernel(To *to, const From *from, size_t count, int to_width,
                                          int from_width) {
    FOR_EACH_ITEM(i, count) {
        size_t row = i / to_width;
        int column = static_cast<int>(i - row * to_width);
        to[i] = narrow<To>(column < from_width ? widen(from[row * from_width + column]) : 0.0f);
    }
}

cudaError_t launch_pack(cudaStream_t stream, enum dtype to, void *packed, const float *values,
                        size_t rows, int to_width, int from_width) {
    return with_type(to, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = rows * static_cast<size_t>(to_width);
        enqueue(resize_rows_kernel<T, float>, blocks_for(count), THREADS, stream,
                static_cast<T *>(packed), values, count, to_width, from_width);
        return cudaPeekAtLastError();
    });
}

cudaError_t launch_unpack(cudaStream_t stream, enum dtype from, float *values, const void *packed,
                          size_t rows, int to_width, int from_width) {
    return with_type(from, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = rows * static_cast<size_t>(to_width);
        enqueue(resize_rows_kernel<float, T>, blocks_for(count), THREADS, stream, values,
                static_cast<const T *>(packed), count, to_width, from_width);
        return cudaPeekAtLastError();
    });
}

template <typename T>
static __global__ void column_sum_kernel(float *sums, const T *x, int rows, int columns) {
    FOR_EACH_ITEM(c, static_cast<size_t>(columns)) {
        float sum = 0;
        for (int r = 0; r < rows; r++)
            sum += widen(x[static_cast<size_t>(r) * columns + c]);
        sums[c] = sum;
    }
}

cudaError_t launch_column_sum(cudaStream_t stream, enum dtype type, float *sums, const void *x,
                              int rows, int columns) {
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(column_sum_kernel<T>, blocks_for(static_cast<size_t>(columns)), THREADS, stream,
                sums, static_cast<const T *>(x), rows, columns);
        return cudaPeekAtLastError();
    });
}
