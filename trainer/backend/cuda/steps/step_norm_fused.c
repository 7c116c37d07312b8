#include "trainer/backend/cuda/base/context.h"

/* Three operators around convolutions that take part in a norm (dnn/conv_table.c). The first turns
 * the sums that a convolution has made of its output into mean, invstd and the factors that the
 * next convolution applies as it reads. The second applies them where no convolution does. The
 * third is the last pass of a gradient, from coefficients that a fused data gradient has made. */

struct finalize_step {
    struct cuda_step step;
    struct norm_finalize_args args;
};

static int run_finalize(void *context, struct error *err) {
    struct finalize_step *s = context;
    cudaError_t status = launch_norm_finalize(s->step.cuda->stream, s->step.type, &s->args);
    return cuda_step_check(&s->step, status, err);
}

/* The shape of the tensor that was summed is in the attribute, as the tensor itself is not an
 * input. */
static int bind_finalize(struct cuda *cuda, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *bound,
                         struct error *err) {
    struct finalize_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct shape *x = &op->attr.target;
    int channels = (int)x->dim[x->rank - 1];
    s->args = (struct norm_finalize_args){
        .sum = addresses->inputs[NORM_FINALIZE_SUM],
        .square_sum = addresses->inputs[NORM_FINALIZE_SQUARE_SUM],
        .gamma = addresses->inputs[NORM_FINALIZE_GAMMA],
        .beta = addresses->inputs[NORM_FINALIZE_BETA],
        .running_mean = addresses->inputs[NORM_FINALIZE_MEAN],
        .running_variance = addresses->inputs[NORM_FINALIZE_VARIANCE],
        .mean = addresses->outputs[NORM_FINALIZE_SAVED_MEAN],
        .invstd = addresses->outputs[NORM_FINALIZE_SAVED_INVSTD],
        .scale = addresses->outputs[NORM_FINALIZE_SCALE],
        .bias = addresses->outputs[NORM_FINALIZE_BIAS],
        .rows = (size_t)(shape_count(x) / channels),
        .channels = channels,
        .epsilon = (float)op->attr.epsilon,
        .momentum = (float)op->attr.momentum,
    };
    bound->step = (struct bound_step){run_finalize, s};
    return 0;
}

const struct cuda_rule cuda_norm_finalize_rule = {NULL, bind_finalize};

struct apply_step {
    struct cuda_step step;
    struct norm_apply_args args;
};

static int run_apply(void *context, struct error *err) {
    struct apply_step *s = context;
    cudaError_t status = launch_norm_apply(s->step.cuda->stream, s->step.type, &s->args);
    return cuda_step_check(&s->step, status, err);
}

/* Slots are those of the fused convolution that it replaces. */
static int bind_apply(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *bound,
                      struct error *err) {
    struct apply_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *x = cuda_input(graph, op, FUSED_CONV_X);
    bool dual = op->kind == OP_DUAL_JOIN_APPLY_RELU;
    s->args = (struct norm_apply_args){
        .x = addresses->inputs[FUSED_CONV_X],
        .scale = addresses->inputs[FUSED_CONV_SCALE],
        .bias = addresses->inputs[FUSED_CONV_BIAS],
        .side = op->kind == OP_NORM_APPLY_RELU ? NULL : addresses->inputs[FUSED_CONV_SIDE],
        .scale2 = dual ? addresses->inputs[FUSED_CONV_SCALE2] : NULL,
        .bias2 = dual ? addresses->inputs[FUSED_CONV_BIAS2] : NULL,
        .y = addresses->outputs[FUSED_CONV_Y],
        .rows = cuda_rows(x),
        .channels = cuda_channels(x),
        .chunks = cuda_norm_chunks(cuda, x),
    };
    bound->step = (struct bound_step){run_apply, s};
    return 0;
}

const struct cuda_rule cuda_norm_apply_rule = {cuda_query_in_place, bind_apply};

struct grad_apply_step {
    struct cuda_step step;
    struct norm_grad_apply_args args;
};

static int run_grad_apply(void *context, struct error *err) {
    struct grad_apply_step *s = context;
    cudaError_t status = launch_norm_grad_apply(s->step.cuda->stream, s->step.type, &s->args);
    return cuda_step_check(&s->step, status, err);
}

/* dx may take the place of g or of x. */
static int bind_grad_apply(struct cuda *cuda, const struct graph *graph, const struct op *op,
                           const struct op_addresses *addresses, struct backend_bound *bound,
                           struct error *err) {
    struct grad_apply_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *g = cuda_input(graph, op, 0);
    s->args = (struct norm_grad_apply_args){.g = addresses->inputs[0],
                                            .x = addresses->inputs[1],
                                            .coefficients = addresses->inputs[2],
                                            .dx = addresses->outputs[0],
                                            .rows = cuda_rows(g),
                                            .channels = cuda_channels(g),
                                            .chunks = cuda_norm_chunks(cuda, g)};
    bound->step = (struct bound_step){run_grad_apply, s};
    return 0;
}

const struct cuda_rule cuda_norm_grad_apply_rule = {cuda_query_in_place, bind_grad_apply};
