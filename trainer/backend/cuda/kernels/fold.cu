/* Folding of a frozen norm into its convolution: weights in the activation's type times the norm's
 * scale, and the remaining bias, as a plan with a bias needs them; and the same for their gradient.
 */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"

static __device__ __forceinline__ float scale_of(const struct fold_args &args, size_t output) {
    return args.gamma == nullptr ? 1.0f
                                 : args.gamma[output] / sqrtf(args.variance[output] + args.epsilon);
}

/* A variance close to zero gives a scale with products that f16 cannot hold. They become the
 * largest number in place of an infinity, which would turn everything after it into NaNs. A NaN
 * stays one. Loaded weights of that kind are refused (step/fp16_fold_check.h), so only training
 * leads here. */
template <typename T> static __device__ __forceinline__ T narrow_finite(float v) {
    return narrow<T>(v);
}
template <> __device__ __forceinline__ __half narrow_finite<__half>(float v) {
    constexpr float LARGEST = 65504.0f;
    return narrow<__half>(v > LARGEST ? LARGEST : v < -LARGEST ? -LARGEST : v);
}

struct folds {
    struct fold_args fold[LAUNCH_FOLDS_MAX];
};
static_assert(sizeof(struct folds) <= 4096, "what the parameters of a kernel may have");

static __host__ __device__ __forceinline__ size_t packed_count(const struct fold_args &args) {
    return args.outputs * args.taps * static_cast<size_t>(args.to_width);
}

/* Fold blockIdx.y: element i of its weights; one thread per output handles the bias.
 * Bytes moved: 4 read and 2 written per weight. */
template <typename T>
static __global__ void fold_kernel(const __grid_constant__ struct folds folds) {
    wait_for_others();
    const struct fold_args &args = folds.fold[blockIdx.y];
    const size_t row = args.taps * static_cast<size_t>(args.to_width), count = packed_count(args);
    FOR_EACH_ITEM(i, count) {
        size_t output = i / row, tap = i / args.to_width;
        int column = static_cast<int>(i - tap * args.to_width);
        float w = column < args.from_width ? args.w[tap * args.from_width + column] : 0.0f;
        static_cast<T *>(args.packed)[i] = narrow_finite<T>(w * scale_of(args, output));
        if (i >= args.outputs || args.packed_bias == nullptr)
            continue;
        float bias =
            args.gamma == nullptr ? args.bias[i] : args.beta[i] - args.mean[i] * scale_of(args, i);
        static_cast<T *>(args.packed_bias)[i] = narrow_finite<T>(bias);
    }
}

/* Blocks per fold: several folds together fill a device, and in small ones few blocks are idle. */
static const unsigned FOLD_BLOCKS = 128;

cudaError_t launch_fold(cudaStream_t stream, enum dtype type, const struct fold_args *args,
                        int count) {
    struct folds folds = {};
    size_t largest = 0;
    if (count < 1 || count > LAUNCH_FOLDS_MAX)
        return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++) {
        folds.fold[i] = args[i];
        largest = packed_count(args[i]) > largest ? packed_count(args[i]) : largest;
    }
    const unsigned blocks = blocks_for(largest) < FOLD_BLOCKS ? blocks_for(largest) : FOLD_BLOCKS;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue_early(fold_kernel<T>, dim3(blocks, static_cast<unsigned>(count)), THREADS, stream,
                      folds);
        return launch_status();
    });
}

/* Element i of the gradient. Bytes moved: 2 read and 4 written per weight, or 2 in its place. */
template <typename T, typename To>
static __global__ void unfold_kernel(const __grid_constant__ struct fold_args args, To *gradient,
                                     size_t count) {
    wait_for_others();
    const size_t row = args.taps * static_cast<size_t>(args.from_width);
    FOR_EACH_ITEM(i, count) {
        size_t tap = i / args.from_width, column = i - tap * args.from_width;
        const T *packed = static_cast<const T *>(args.packed) + tap * args.to_width;
        gradient[i] = narrow<To>(widen(packed[column]) * scale_of(args, i / row));
    }
}

cudaError_t launch_unfold(cudaStream_t stream, enum dtype type, const struct fold_args *args,
                          void *gradient) {
    const bool in_place = gradient == args->packed;
    if (in_place && args->to_width != args->from_width)
        return cudaErrorInvalidValue;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        size_t count = args->outputs * args->taps * static_cast<size_t>(args->from_width);
        if (in_place)
            enqueue_early(unfold_kernel<T, T>, blocks_for(count), THREADS, stream, *args,
                          static_cast<T *>(gradient), count);
        else
            enqueue_early(unfold_kernel<T, float>, blocks_for(count), THREADS, stream, *args,
                          static_cast<float *>(gradient), count);
        return launch_status();
    });
}
