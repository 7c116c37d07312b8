/* The optimizer on the device: finite check, update and loss scale. Everything that changes from
 * step to step is read from device memory, so that a recorded step can be replayed. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"

/* One update is a chain of launches: begin, a check of all gradients, the norms that clipping or
 * adaptive rules need, the update itself, and the loss scale. A gradient that is not finite makes
 * the step void on the device: weights stay as they are, running statistics are restored, and the
 * loss scale is halved (Micikevicius et al. 2018). The host learns of it when it reads the state.
 *
 * Formulas are those of math/optimizer.h, compiled without contraction, so that hosts and devices
 * compute the same bits. Sums of squares are double, by blocks in a fixed order. */

/* Bytes moved: a few numbers. It decides whether this step counts at all; the bias corrections of
 * Adam are those of the update that would be the next one. */
static __global__ void begin_kernel(struct control *control, const float *void_flag,
                                    const float *loss) {
    control->is_void = void_flag != nullptr && *void_flag > 0;
    control->state.finite = loss == nullptr || control->is_void || isfinite(*loss);
    control->now = optimizer_at(control->rule.step, control->state.updates + 1);
}

/* A gradient is in f32 or in half precision, which a byte for its group of LAUNCH_GROUP elements
 * tells (struct backend_gradients). */
template <typename T>
static __device__ __forceinline__ float gradient_at(const struct backend_gradients &g, size_t i) {
    if (g.half != nullptr && g.half_mask[i / LAUNCH_GROUP])
        return widen(static_cast<const T *>(g.half)[i]);
    return g.wide[i];
}

/* Bytes moved: 4 per gradient, 2 of one that is in half precision. One pass over all gradients.
 * Infinities of half precision are found here, too. */
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

/* False for steps that are void or not finite. */
static __device__ __forceinline__ bool counts(const struct control *control) {
    return control->state.finite && !control->is_void;
}

/* Groups differ in learning rate and decay; without a table all weights are of group 0. */
static __device__ __forceinline__ int group_of(const struct optimizer_args &args, size_t i) {
    return args.groups == nullptr ? 0 : args.groups[i / LAUNCH_GROUP];
}

/* Returns the factor from a sum of gradients to their mean. It undoes the loss scale as well. */
static __device__ __forceinline__ float mean_scale(const struct control *control) {
    return control->rule.step.scale / control->state.loss_scale;
}

/* The numbers of this step, before those of the groups. A copy in registers; `now` itself is the
 * same for all threads. */
static __device__ __forceinline__ struct optimizer_step step_now(const struct control *control,
                                                                 bool clips) {
    struct optimizer_step step = control->now;
    step.scale = mean_scale(control);
    if (clips)
        step.scale *= control->clip;
    return step;
}

/* The average is updated apart from the rule, after the weight. */
static __device__ __forceinline__ struct optimizer_state state_at(const struct optimizer_state &all,
                                                                  size_t i) {
    struct optimizer_state state;
    state.momentum = all.momentum == nullptr ? nullptr : all.momentum + i;
    state.second = all.second == nullptr ? nullptr : all.second + i;
    state.average = nullptr;
    return state;
}

/* A skipped step restores the states instead. Bytes moved: with one state 12 read per weight, 10
 * where its gradient is in half precision, and 8 written, and those of the half-precision copy; 8
 * more for each further state, and for the average. KIND is a constant, so each rule is a kernel
 * without tests for the others. */
template <typename T, int KIND>
static __global__ void update_kernel(const struct control *control,
                                     const __grid_constant__ struct optimizer_args args) {
    wait_for_others();
    if (!counts(control)) {
        FOR_EACH_ITEM(i, args.state_count)
        args.states[i] = args.states_before[i];
        return;
    }
    const struct optimizer_step step = step_now(control, args.clips);
    FOR_EACH_ITEM(i, args.count) {
        struct optimizer_step own =
            optimizer_of_group(step, control->rule.groups[group_of(args, i)]);
        if (optimizer_adapts(KIND) && args.norms.factors != nullptr)
            own.factor = args.norms.factors[args.norms.tensors[i / LAUNCH_GROUP]];
        optimizer_update(KIND, &own, &args.weights[i], state_at(args.state, i),
                         gradient_at<T>(args.gradients, i));
        if (args.state.average != nullptr)
            args.state.average[i] =
                optimizer_averaged(own.average_kept, args.state.average[i], args.weights[i]);
        if (args.half != nullptr)
            static_cast<T *>(args.half)[i] = narrow<T>(args.weights[i]);
    }
}

/* Bytes moved: a few numbers. Limits are 1 and 65536. The scale doubles after growth_interval good
 * steps in a row, which makes it as large as f16 gradients allow. A void step changes nothing, not
 * even the count of good steps. */
static __global__ void adapt_scale_kernel(struct control *control) {
    wait_for_others();
    const float least = 1, most = 65536;
    struct backend_optimizer_state *state = &control->state;
    if (control->is_void)
        return;
    if (!state->finite)
        control->skipped++;
    else
        state->updates++;
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

/* Bytes moved: 4 per gradient, 2 of one that is in half precision. A fixed number of blocks, hence
 * a fixed order of the sum for any GPU. */
template <typename T>
static __global__ void gradient_squares_kernel(struct control *control,
                                               const __grid_constant__ struct optimizer_args args) {
    double sum = 0;
    FOR_EACH_ITEM(i, args.count) {
        double g = gradient_at<T>(args.gradients, i);
        sum += g * g;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        control->partial_squares[blockIdx.x] = sum;
}

/* Bytes moved: 8 per block of the sum. Clipping by the global norm: the factor is at most 1. */
static __global__ void clip_kernel(struct control *control) {
    double squares = sum_of_blocks(control);
    if (threadIdx.x == 0)
        control->clip = optimizer_clip(&control->rule, mean_scale(control), squares);
}

/* A block sums one piece of a tensor. Bytes moved: 8 per weight, 6 where its gradient is in half
 * precision. Pieces are consecutive weights of one tensor and one group, made by the host. */
template <typename T>
static __global__ void norm_pieces_kernel(const struct control *control,
                                          const __grid_constant__ struct optimizer_args args) {
    const struct optimizer_piece piece = args.norms.pieces[blockIdx.x];
    const struct optimizer_step own = optimizer_of_group(
        step_now(control, args.clips), control->rule.groups[group_of(args, piece.first)]);
    double weights = 0, gradients = 0;
    for (unsigned k = threadIdx.x; k < piece.count; k += THREADS) {
        const size_t i = static_cast<size_t>(piece.first) + k;
        const double w = args.weights[i];
        const double g =
            optimizer_measured(&own, args.weights[i], gradient_at<T>(args.gradients, i));
        weights += w * w;
        gradients += g * g;
    }
    weights = block_sum(weights);
    __syncthreads(); /* the sums' memory is used again */
    gradients = block_sum(gradients);
    if (threadIdx.x == 0) {
        args.norms.sums[2 * blockIdx.x] = weights;
        args.norms.sums[2 * blockIdx.x + 1] = gradients;
    }
}

/* A block adds the pieces of one tensor. Bytes moved: 16 per piece. LARS and LARC scale each
 * tensor's step by the ratio of its norms (You et al. 2017); groups that do not adapt have a factor
 * of 1. */
static __global__ void norm_factors_kernel(const struct control *control,
                                           const __grid_constant__ struct optimizer_args args) {
    const unsigned first = args.norms.begins[blockIdx.x], end = args.norms.begins[blockIdx.x + 1];
    double weights = 0, gradients = 0;
    for (unsigned piece = first + threadIdx.x; piece < end; piece += THREADS) {
        weights += args.norms.sums[2 * piece];
        gradients += args.norms.sums[2 * piece + 1];
    }
    weights = block_sum(weights);
    __syncthreads();
    gradients = block_sum(gradients);
    if (threadIdx.x > 0)
        return;
    const struct optimizer_group group =
        control->rule.groups[group_of(args, args.norms.pieces[first].first)];
    const struct optimizer_step own = optimizer_of_group(step_now(control, args.clips), group);
    args.norms.factors[blockIdx.x] = group.adapts ? optimizer_factor(&own, weights, gradients) : 1;
}

/* The type of all half-precision values here; f32 if there are none. One template argument serves
 * weights and gradients. */
static enum dtype half_type(const struct optimizer_args *args) {
    if (args->half != nullptr)
        return args->half_type;
    return args->gradients.half != nullptr ? static_cast<enum dtype>(args->gradients.type)
                                           : DTYPE_F32;
}

/* Everything that reads gradients. The check comes first: whether a step is finite is known before
 * any weight changes. */
template <typename T, int KIND>
static void enqueue_update(cudaStream_t stream, struct control *control,
                           const struct optimizer_args *args) {
    const unsigned blocks = blocks_for(args->count);
    enqueue_early(check_finite_kernel<T>, blocks, THREADS, stream, control, args->gradients,
                  args->count);
    if (args->clips) {
        enqueue(gradient_squares_kernel<T>, LAUNCH_SQUARES_BLOCKS, THREADS, stream, control, *args);
        enqueue(clip_kernel, 1, THREADS, stream, control);
    }
    if (optimizer_adapts(KIND) && args->norms.tensor_count > 0) {
        enqueue(norm_pieces_kernel<T>, args->norms.piece_count, THREADS, stream, control, *args);
        enqueue(norm_factors_kernel, args->norms.tensor_count, THREADS, stream, control, *args);
    }
    enqueue_early(update_kernel<T, KIND>, blocks, THREADS, stream, control, *args);
}

/* The list of rules; a new one needs a case here. */
template <typename T>
static void enqueue_kind(cudaStream_t stream, struct control *control,
                         const struct optimizer_args *args) {
    switch (args->kind) {
    case OPTIMIZER_LARS:
        return enqueue_update<T, OPTIMIZER_LARS>(stream, control, args);
    case OPTIMIZER_LARC:
        return enqueue_update<T, OPTIMIZER_LARC>(stream, control, args);
    case OPTIMIZER_ADAMW:
        return enqueue_update<T, OPTIMIZER_ADAMW>(stream, control, args);
    case OPTIMIZER_ADAGRAD:
        return enqueue_update<T, OPTIMIZER_ADAGRAD>(stream, control, args);
    default:
        return enqueue_update<T, OPTIMIZER_SGD>(stream, control, args);
    }
}

/* The gradients and the copy of the weights must have one half-precision type. Begins and ends with
 * a kernel of one thread. */
cudaError_t launch_optimizer(cudaStream_t stream, struct control *control,
                             const struct optimizer_args *args) {
    const bool both = args->half != nullptr && args->gradients.half != nullptr;
    if (both && args->gradients.type != args->half_type)
        return cudaErrorInvalidValue;
    enqueue(begin_kernel, 1, 1, stream, control, args->void_flag, args->loss);
    cudaError_t status = with_type(half_type(args), [=](auto tag) {
        enqueue_kind<typename decltype(tag)::type>(stream, control, args);
        return launch_status();
    });
    if (status != cudaSuccess)
        return status;
    enqueue_early(adapt_scale_kernel, 1, 1, stream, control);
    return launch_status();
}

/* Bytes moved: 4 per gradient, 2 of one that is in half precision, 4 of its sum read and 4 written.
 */
template <typename T>
static __global__ void add_gradients_kernel(const __grid_constant__ struct backend_sum args) {
    FOR_EACH_ITEM(k, args.count) {
        const size_t i = args.first + k;
        const float gradient = gradient_at<T>(args.gradients, i);
        args.to[i] = args.sum == nullptr ? gradient : args.sum[i] + gradient;
    }
}

/* TO may be the sum or the f32 gradients themselves. */
cudaError_t launch_add_gradients(cudaStream_t stream, const struct backend_sum *sum) {
    const enum dtype type =
        sum->gradients.half == nullptr ? DTYPE_F32 : static_cast<enum dtype>(sum->gradients.type);
    return with_type(type, [=](auto tag) {
        enqueue(add_gradients_kernel<typename decltype(tag)::type>, blocks_for(sum->count), THREADS,
                stream, *sum);
        return launch_status();
    });
}

/* Bytes moved: 4 per weight. */
static __global__ void squares_kernel(struct control *control,
                                      const __grid_constant__ struct optimizer_args args) {
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

/* Leaves the sum in control->squares, which the host copies when it needs it. */
cudaError_t launch_squares(cudaStream_t stream, struct control *control,
                           const struct optimizer_args *args) {
    enqueue(squares_kernel, LAUNCH_SQUARES_BLOCKS, THREADS, stream, control, *args);
    enqueue(add_squares_kernel, 1, THREADS, stream, control);
    return launch_status();
}
