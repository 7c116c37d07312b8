/* Backward pass of a 1x1 convolution before a norm as one operator, for shapes and GPUs that have a
 * kernel for it. */
#include "trainer/backend/cuda/optional/backward.h"

#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/optional/kernels/launch_backward.h"
#include "trainer/backend/cuda/optional/tuned_gpus.h"

#include <limits.h>

int cuda_backward_choose(enum cuda_own wanted, const char *name, int major, int minor,
                         bool *ret_own, struct error *err) {
    bool can = major == 9 && minor == 0;
    *ret_own = can && (wanted == CUDA_OWN_ON ||
                       (wanted == CUDA_OWN_AUTO && cuda_tuned_on(CUDA_CHOICE_BACKWARD, name)));
    if (wanted == CUDA_OWN_ON && !can)
        return error_set(err, EXIT_CODE_DEVICE,
                         "--own-backward on: %s is sm_%d%d; the kernel is for sm_90", name, major,
                         minor);
    return 0;
}

struct backward_step {
    struct cuda_step step;
    struct conv_backward_args args;
    /* For weights without a half-precision copy: the arena's, and args.w, this step's own copy. */
    const float *weights;
    void *packed;
};

struct backward_sizes {
    size_t rows;
    int in, out, workers;
};

static enum conv_backward_form form_of(const struct op *op) {
    return op->kind == OP_CONV2D_BACKWARD_NORM   ? BACKWARD_NORM
           : op->kind == OP_CONV2D_BACKWARD_JOIN ? BACKWARD_JOIN
                                                 : BACKWARD_PLAIN;
}

/* The three kinds that fusion makes only for this kernel. */
static bool is_backward(const struct op *op) {
    return op->kind == OP_CONV2D_BACKWARD || op->kind == OP_CONV2D_BACKWARD_NORM ||
           op->kind == OP_CONV2D_BACKWARD_JOIN;
}

static struct backward_sizes sizes_of(const struct cuda *cuda, const struct graph *graph,
                                      const struct op *op) {
    const struct tensor *g = cuda_input(graph, op, CONV_BACKWARD_G);
    struct backward_sizes s = {.rows = cuda_rows(g),
                               .in = cuda_channels(cuda_input(graph, op, CONV_BACKWARD_W)),
                               .out = cuda_channels(g)};
    s.workers = launch_conv_backward_workers(s.rows, s.in, cuda->multiprocessors);
    return s;
}

/* Kernels count rows in 32 bits. */
bool cuda_backward_supports(const struct cuda *cuda, const struct graph *graph,
                            const struct op *op) {
    if (!is_backward(op))
        return true;
    const struct tensor *g = cuda_input(graph, op, CONV_BACKWARD_G);
    return cuda->own_backward && cuda_rows(g) < INT_MAX / 2 &&
           launch_conv_backward_has(graph->dtype, form_of(op),
                                    cuda_channels(cuda_input(graph, op, CONV_BACKWARD_W)),
                                    cuda_channels(g));
}

static int query_backward(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          struct backend_needs *needs, struct error *err) {
    (void)err;
    struct backward_sizes s = sizes_of(cuda, graph, op);
    needs->scratch = launch_conv_backward_bytes(s.in, s.out, s.workers);
    if (!cuda_has_half(graph, cuda_input(graph, op, CONV_BACKWARD_W)))
        needs->packed = (size_t)s.in * (size_t)s.out * dtype_size(graph->dtype);
    return 0;
}

static int run_backward(void *context, struct error *err) {
    struct backward_step *s = context;
    return cuda_step_check(&s->step,
                           launch_conv_backward(s->step.cuda->stream, s->step.type, &s->args), err);
}

/* Runs when weights have changed: the kernel reads them in half precision. */
static int refresh_backward(void *context, struct error *err) {
    struct backward_step *s = context;
    cudaError_t status = launch_pack(s->step.cuda->stream, s->step.type, s->packed, s->weights,
                                     (size_t)s->args.out, s->args.in, s->args.in);
    return cuda_step_check(&s->step, status, err);
}

static int bind_backward(struct cuda *cuda, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *bound,
                         struct error *err) {
    struct backward_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    struct backward_sizes sizes = sizes_of(cuda, graph, op);
    bound->step = (struct bound_step){run_backward, s};
    bool is_half = cuda_has_half(graph, cuda_input(graph, op, CONV_BACKWARD_W));
    if (!is_half)
        bound->refresh = (struct bound_step){refresh_backward, s};
    s->weights = addresses->inputs[CONV_BACKWARD_W];
    s->packed = addresses->packed;
    s->args = (struct conv_backward_args){
        .form = form_of(op),
        .g = addresses->inputs[CONV_BACKWARD_G],
        .z = addresses->inputs[CONV_BACKWARD_Z],
        .coefficients = addresses->inputs[CONV_BACKWARD_COEFFICIENTS],
        .w = is_half ? cuda_half(graph, addresses, s->weights) : s->packed,
        .x = addresses->inputs[CONV_BACKWARD_X],
        .y = addresses->inputs[CONV_BACKWARD_Y],
        .shortcut = addresses->inputs[CONV_BACKWARD_SHORTCUT],
        .scale = addresses->inputs[CONV_BACKWARD_SCALE],
        .bias = addresses->inputs[CONV_BACKWARD_BIAS],
        .gamma = addresses->inputs[CONV_BACKWARD_GAMMA],
        .beta = addresses->inputs[CONV_BACKWARD_BETA],
        .mean = addresses->inputs[CONV_BACKWARD_MEAN],
        .invstd = addresses->inputs[CONV_BACKWARD_INVSTD],
        .dx = addresses->outputs[CONV_BACKWARD_DX],
        .dgamma = addresses->outputs[CONV_BACKWARD_DGAMMA],
        .dbeta = addresses->outputs[CONV_BACKWARD_DBETA],
        .dx_coefficients = addresses->outputs[CONV_BACKWARD_DX_COEFFICIENTS],
        .dw = addresses->outputs[CONV_BACKWARD_DW],
        .dw_wide = cuda_output(graph, op, CONV_BACKWARD_DW)->dtype == DTYPE_F32,
        .partial = addresses->scratch,
        .rows = sizes.rows,
        .in = sizes.in,
        .out = sizes.out,
        .workers = sizes.workers,
    };
    if (cuda->counted != NULL)
        return 0; /* the maps are the driver's */
    return cuda_step_check(&s->step, launch_conv_backward_maps(s->step.type, &s->args), err);
}

const struct cuda_rule cuda_conv_backward_rule = {query_backward, bind_backward};
