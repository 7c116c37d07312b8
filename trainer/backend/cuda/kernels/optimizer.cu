/* The optimizer on the device: finite check, update and loss scale. Everything that changes from
 * step to step is read from device memory, so that a recorded step can be replayed. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"

/* Bytes moved: a few numbers. */
static __global__ void begin_kernel(struct control *control, const float *void_flag,
                                    const float *loss) {
    control->is_void = void_flag != nullptr && *void_flag > 0;
    control->state.finite = loss == nullptr || control->is_void || isfinite(*loss);
}

template <typename T>
static __device__ __forceinline__ float gradient_at(const struct backend_gradients &g, size_t i) {
    if (g.narrow != nullptr && g.narrowed[i / LAUNCH_GROUP])
        return widen(static_cast<const T *>(g.narrow)[i]);
    return g.wide[i];
}

/* Bytes moved: 4 per gradient, 2 of one that is narrow. */
template <typename T>
static __global__ void
check_finite_kernel(struct control *control,
                    const __grid_constant__ struct backend_gradients gradients, size_t count) {
    wait_for_others();
    if (control->is_void)
        return;
    bool bad = false;
    FOR_EACH_ITEM(i, count)
    bad = bad || !isfinite(gradient_at<T>(gradients, i));
    if (bad)
        control->state.finite = 0; /* every writer writes the same */
}

static __device__ __forceinline__ bool counts(const struct control *control) {
    return control->state.finite && !control->is_void;
}

static __device__ __forceinline__ int group_of(const struct sgd_args &args, size_t i) {
    return args.groups == nullptr ? 0 : args.groups[i / LAUNCH_GROUP];
}

/* From a sum of gradients to their mean. */
static __device__ __forceinline__ float mean_scale(const struct control *control) {
    return control->rule.step.scale / control->state.loss_scale;
}

/* A skipped step restores the states instead. Bytes moved: 12 read per weight, 10
 * where its gradient is narrow, and 8 written, and those of the narrow copy. */
template <typename T>
static __global__ void update_kernel(const struct control *control,
                                     const __grid_constant__ struct sgd_args args) {
    wait_for_others();
    if (!counts(control)) {
        FOR_EACH_ITEM(i, args.state_count)
        args.states[i] = args.states_before[i];
        return;
    }
    struct sgd_step step = control->rule.step;
    step.scale = mean_scale(control);
    if (args.clips)
        step.scale *= control->clip;
    FOR_EACH_ITEM(i, args.count) {
        const struct sgd_step own = sgd_of_group(step, control->rule.groups[group_of(args, i)]);
        sgd_update(&own, &args.weights[i], &args.momentum[i], gradient_at<T>(args.gradients, i));
        if (args.narrow != nullptr)
            static_cast<T *>(args.narrow)[i] = narrow<T>(args.weights[i]);
    }
}

/* Bytes moved: a few numbers. */
static __global__ void adapt_scale_kernel(struct control *control) {
    wait_for_others();
    const float least = 1, most = 65536;
    struct backend_sgd_state *state = &control->state;
    if (control->is_void)
        return;
    if (!state->finite)
        control->skipped++;
    if (control->growth_interval == 0)
        return;
    state->good_steps = state->finite ? state->good_steps + 1 : 0;
    float scale = state->loss_scale;
    if (!state->finite)
        scale = scale / 2 > least ? scale / 2 : least;
    else if (state->good_steps == control->growth_interval) {
        state->good_steps = 0;
        scale = scale * 2 < most ? scale * 2 : most;
    }
    state->loss_scale = scale;
}

/* Adds V over the block, in a fixed order; thread 0 gets the sum. All threads must call it. */
static __device__ double block_sum(double v) {
    __shared__ double sums[THREADS];
    sums[threadIdx.x] = v;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

static_assert(int{LAUNCH_SQUARES_BLOCKS} <= int{THREADS}, "one block adds them up");

/* Returns the sum of control->partial_squares, one value per block. All threads must call it. */
static __device__ double sum_of_blocks(const struct control *control) {
    return block_sum(threadIdx.x < LAUNCH_SQUARES_BLOCKS ? control->partial_squares[threadIdx.x]
                                                         : 0);
}

/* Bytes moved: 4 per gradient, 2 of one that is narrow. */
template <typename T>
static __global__ void gradient_squares_kernel(struct control *control,
                                               const __grid_constant__ struct sgd_args args) {
    double sum = 0;
    FOR_EACH_ITEM(i, args.count) {
        double g = gradient_at<T>(args.gradients, i);
        sum += g * g;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        control->partial_squares[blockIdx.x] = sum;
}

/* Bytes moved: 8 per block of the sum. */
static __global__ void clip_kernel(struct control *control) {
    double squares = sum_of_blocks(control);
    if (threadIdx.x == 0)
        control->clip = sgd_clip(&control->rule, mean_scale(control), squares);
}

/* The type of all narrow values here; f32 if there are none. */
static enum dtype narrow_type(const struct sgd_args *args) {
    if (args->narrow != nullptr)
        return args->narrow_type;
    return args->gradients.narrow != nullptr ? static_cast<enum dtype>(args->gradients.type)
                                             : DTYPE_F32;
}

/* Everything that reads gradients. */
template <typename T>
static void enqueue_update(cudaStream_t stream, struct control *control,
                           const struct sgd_args *args) {
    const unsigned blocks = blocks_for(args->count);
    enqueue_early(check_finite_kernel<T>, blocks, THREADS, stream, control, args->gradients,
                  args->count);
    if (args->clips) {
        enqueue(gradient_squares_kernel<T>, LAUNCH_SQUARES_BLOCKS, THREADS, stream, control, *args);
        enqueue(clip_kernel, 1, THREADS, stream, control);
    }
    enqueue_early(update_kernel<T>, blocks, THREADS, stream, control, *args);
}

cudaError_t launch_sgd(cudaStream_t stream, struct control *control, const struct sgd_args *args) {
    const bool both = args->narrow != nullptr && args->gradients.narrow != nullptr;
    if (both && args->gradients.type != args->narrow_type)
        return cudaErrorInvalidValue;
    enqueue(begin_kernel, 1, 1, stream, control, args->void_flag, args->loss);
    cudaError_t status = with_type(narrow_type(args), [=](auto tag) {
        enqueue_update<typename decltype(tag)::type>(stream, control, args);
        return launch_status();
    });
    if (status != cudaSuccess)
        return status;
    enqueue_early(adapt_scale_kernel, 1, 1, stream, control);
    return launch_status();
}

/* Bytes moved: 4 per gradient, 2 of one that is narrow, 4 of its sum read and 4 written. */
template <typename T>
static __global__ void add_gradients_kernel(const __grid_constant__ struct backend_sum args) {
    FOR_EACH_ITEM(k, args.count) {
        const size_t i = args.first + k;
        const float gradient = gradient_at<T>(args.gradients, i);
        args.to[i] = args.sum == nullptr ? gradient : args.sum[i] + gradient;
    }
}

cudaError_t launch_add_gradients(cudaStream_t stream, const struct backend_sum *sum) {
    const enum dtype type =
        sum->gradients.narrow == nullptr ? DTYPE_F32 : static_cast<enum dtype>(sum->gradients.type);
    return with_type(type, [=](auto tag) {
        enqueue(add_gradients_kernel<typename decltype(tag)::type>, blocks_for(sum->count), THREADS,
                stream, *sum);
        return launch_status();
    });
}

/* Bytes moved: 4 per weight. */
static __global__ void squares_kernel(struct control *control,
                                      const __grid_constant__ struct sgd_args args) {
    double sum = 0;
    FOR_EACH_ITEM(i, args.count) {
        double w = args.weights[i];
        sum += w * w * control->rule.groups[group_of(args, i)].decay;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        control->partial_squares[blockIdx.x] = sum;
}

/* Bytes moved: 8 per block of the sum. */
static __global__ void add_squares_kernel(struct control *control) {
    double sum = sum_of_blocks(control);
    if (threadIdx.x == 0)
        control->squares = sum;
}

cudaError_t launch_squares(cudaStream_t stream, struct control *control,
                           const struct sgd_args *args) {
    enqueue(squares_kernel, LAUNCH_SQUARES_BLOCKS, THREADS, stream, control, *args);
    enqueue(add_squares_kernel, 1, THREADS, stream, control);
    return launch_status();
}
