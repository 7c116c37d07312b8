/* The optimizer on the device: finite check, update and loss scale, with all that changes from
 * step to step read from device memory, so that one recorded step serves for ever. */
#include "cuda/launch.h"
#include "cuda/vec.cuh"

static __global__ void begin_kernel(struct control *control, const float *void_flag) {
    control->finite = void_flag == nullptr || !(*void_flag > 0);
}

static __global__ void check_finite_kernel(struct control *control, const float *gradients,
                                           size_t count) {
    bool bad = false;
    FOR_EACH_ITEM(i, count)
    bad = bad || !isfinite(gradients[i]);
    if (bad)
        control->finite = 0; /* every writer writes the same */
}

static __global__ void update_kernel(const struct control *control, struct sgd_args args) {
    if (!control->finite)
        return;
    struct sgd_step step = control->step;
    step.scale /= control->loss_scale;
    const float decay = step.weight_decay;
    FOR_EACH_ITEM(i, args.count) {
        bool decays = args.decays == nullptr || args.decays[i / LAUNCH_DECAY_GROUP] != 0;
        step.weight_decay = decays ? decay : 0;
        sgd_update(&step, &args.weights[i], &args.momentum[i], args.gradients[i]);
    }
}

static __global__ void adapt_scale_kernel(struct control *control) {
    const float least = 1, most = 65536;
    if (!control->finite)
        control->skipped++;
    if (control->growth_interval == 0)
        return;
    control->good_steps = control->finite ? control->good_steps + 1 : 0;
    float scale = control->loss_scale;
    if (!control->finite)
        scale = scale > least ? scale / 2 : least;
    else if (control->good_steps == control->growth_interval) {
        control->good_steps = 0;
        scale = scale < most ? scale * 2 : most;
    }
    control->loss_scale = scale;
}

cudaError_t launch_sgd(cudaStream_t stream, struct control *control, const struct sgd_args *args) {
    unsigned blocks = blocks_for(args->count);
    enqueue(begin_kernel, 1, 1, stream, control, args->void_flag);
    enqueue(check_finite_kernel, blocks, THREADS, stream, control, args->gradients, args->count);
    enqueue(update_kernel, blocks, THREADS, stream, control, *args);
    enqueue(adapt_scale_kernel, 1, 1, stream, control);
    return cudaPeekAtLastError();
}
