#include "trainer/backend/cuda/base/context.h"

/* Batch norm and its gradient in all forms: plain, with a ReLU, with a join of one or two norms,
 * and with a max pool; also in inference, where running statistics take the place of the batch's.
 * One launcher has all forms (kernels/norm_forward.cu, kernels/norm_backward.cu); the form decides
 * which of its arguments are NULL.
 *
 * A norm of a batch reads its input twice, for the statistics and to apply them, and so does its
 * gradient. Where cuDNN can take over one of these passes, fusion has replaced the operators of
 * this file by convolutions with a prologue or epilogue and the small operators in
 * step_norm_fused.c. */

/* Arguments are complete once the operator is bound, and a step does no more than launch them. So
 * the same steps can run one by one or be recorded as a graph of CUDA. */
struct norm_step {
    struct cuda_step step;
    struct norm_forward_args args;
};

/* One f32 for each chunk of rows, sum and channel. The number of chunks depends on the GPU, so the
 * scratch does, too. */
static size_t partial_bytes(const struct cuda *cuda, const struct tensor *x, int sums) {
    return (size_t)cuda_norm_chunks(cuda, x) * (size_t)sums * (size_t)cuda_channels(x) *
           sizeof(float);
}

/* In inference the scratch stays unused. An output may take an input's place, as the last kernel
 * goes element by element; which ones, the operator table says. */
static int query_norm(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      struct backend_needs *needs, struct error *err) {
    (void)err;
    needs->scratch = partial_bytes(cuda, cuda_input(graph, op, NORM_X), 2);
    needs->in_place = true;
    return 0;
}

/* The launcher sees from the arguments which kernels to enqueue. */
static int run_norm(void *context, struct error *err) {
    struct norm_step *s = context;
    return cuda_step_check(&s->step,
                           launch_norm_forward(s->step.cuda->stream, s->step.type, &s->args), err);
}

/* Statistics of the batch are outputs in training only. In a dual form the side input is the x of a
 * second norm, in a single join it is added as it is. All forms but the plain one have a ReLU. */
static int bind_norm(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct norm_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *x = cuda_input(graph, op, NORM_X);
    bool inference = op->kind == OP_BATCH_NORM_INFERENCE;
    s->args = (struct norm_forward_args){
        .first = {.x = addresses->inputs[NORM_X],
                  .gamma = addresses->inputs[NORM_GAMMA],
                  .beta = addresses->inputs[NORM_BETA],
                  .running_mean = addresses->inputs[NORM_MEAN],
                  .running_variance = addresses->inputs[NORM_VARIANCE],
                  .mean = inference ? NULL : addresses->outputs[NORM_SAVED_MEAN],
                  .invstd = inference ? NULL : addresses->outputs[NORM_SAVED_INVSTD]},
        .y = addresses->outputs[NORM_Y],
        .rows = cuda_rows(x),
        .channels = cuda_channels(x),
        .relu = op->attr.form != NORM_PLAIN,
        .inference = inference,
        .epsilon = (float)op->attr.epsilon,
        .momentum = (float)op->attr.momentum,
        .chunks = cuda_norm_chunks(cuda, x),
        .partial = addresses->scratch,
    };
    if (op->attr.form == NORM_DUAL_ADD_RELU)
        s->args.second =
            (struct norm_args){.x = addresses->inputs[NORM_SIDE],
                               .gamma = addresses->inputs[NORM_GAMMA2],
                               .beta = addresses->inputs[NORM_BETA2],
                               .running_mean = addresses->inputs[NORM_MEAN2],
                               .running_variance = addresses->inputs[NORM_VARIANCE2],
                               .mean = inference ? NULL : addresses->outputs[NORM_SAVED_MEAN2],
                               .invstd = inference ? NULL : addresses->outputs[NORM_SAVED_INVSTD2]};
    else if (op->attr.form == NORM_ADD_RELU)
        s->args.side = addresses->inputs[NORM_SIDE];
    if (op->attr.form == NORM_RELU_MAX_POOL) {
        s->args.index = addresses->outputs[NORM_POOL_INDEX];
        s->args.pool = cuda_pool_shape(x, cuda_output(graph, op, NORM_Y), &op->attr.window);
    }
    bound->step = (struct bound_step){run_norm, s};
    return 0;
}

/* The rule of both kinds, training and inference. */
const struct cuda_rule cuda_norm_rule = {query_norm, bind_norm};

/* dx = a g + b x + c in each channel, where g is the gradient behind the mask. The coefficients
 * follow from two sums over all rows, so dx needs a second pass; these sums also give the gradients
 * of gamma and beta. */
struct norm_grad_step {
    struct cuda_step step;
    struct norm_backward_args args;
};

/* Coefficients of two norms, six rows of channels, then the partial sums. A dual form has three
 * sums and not four, because both norms have the same g. */
static int query_norm_grad(struct cuda *cuda, const struct graph *graph, const struct op *op,
                           struct backend_needs *needs, struct error *err) {
    (void)err;
    const struct tensor *x = cuda_input(graph, op, NORM_GRAD_X);
    int sums = op->attr.form == NORM_DUAL_ADD_RELU ? 3 : 2;
    needs->scratch = partial_bytes(cuda, x, sums) + 6 * (size_t)cuda_channels(x) * sizeof(float);
    needs->in_place = true;
    return 0;
}

static int run_norm_grad(void *context, struct error *err) {
    struct norm_grad_step *s = context;
    return cuda_step_check(&s->step,
                           launch_norm_backward(s->step.cuda->stream, s->step.type, &s->args), err);
}

/* A join's mask comes from its stored output. With a pool the slot of the output holds the index of
 * the maxima. The masks of other forms are computed again from x, which is read in any case. The
 * second dy is there if the output had two users. */
static int bind_norm_grad(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    struct norm_grad_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *x = cuda_input(graph, op, NORM_GRAD_X);
    int channels = cuda_channels(x);
    bool dual = op->attr.form == NORM_DUAL_ADD_RELU;
    float *coefficients = addresses->scratch;
    s->args = (struct norm_backward_args){
        .first = {.x = addresses->inputs[NORM_GRAD_X],
                  .gamma = addresses->inputs[NORM_GRAD_GAMMA],
                  .beta = addresses->inputs[NORM_GRAD_BETA],
                  .mean = addresses->inputs[NORM_GRAD_MEAN],
                  .invstd = addresses->inputs[NORM_GRAD_INVSTD]},
        .dy = addresses->inputs[NORM_GRAD_DY],
        .dy2 = addresses->inputs[NORM_GRAD_DY2],
        .y = dual || op->attr.form == NORM_ADD_RELU ? addresses->inputs[NORM_GRAD_Y] : NULL,
        .relu = op->attr.form != NORM_PLAIN,
        .dx = addresses->outputs[NORM_GRAD_DX],
        .dside = addresses->outputs[NORM_GRAD_DSIDE],
        .dgamma = addresses->outputs[NORM_GRAD_DGAMMA],
        .dbeta = addresses->outputs[NORM_GRAD_DBETA],
        .dgamma2 = addresses->outputs[NORM_GRAD_DGAMMA2],
        .dbeta2 = addresses->outputs[NORM_GRAD_DBETA2],
        .rows = cuda_rows(x),
        .channels = channels,
        .chunks = cuda_norm_chunks(cuda, x),
        .coefficients = coefficients,
        .partial = coefficients + (ptrdiff_t)6 * channels,
    };
    if (dual)
        s->args.second = (struct norm_args){.x = addresses->inputs[NORM_GRAD_SIDE],
                                            .gamma = addresses->inputs[NORM_GRAD_GAMMA2],
                                            .beta = addresses->inputs[NORM_GRAD_BETA2],
                                            .mean = addresses->inputs[NORM_GRAD_MEAN2],
                                            .invstd = addresses->inputs[NORM_GRAD_INVSTD2]};
    if (op->attr.form == NORM_RELU_MAX_POOL) {
        s->args.index = addresses->inputs[NORM_GRAD_Y];
        s->args.pool = cuda_pool_shape(x, cuda_input(graph, op, NORM_GRAD_DY), &op->attr.window);
    }
    bound->step = (struct bound_step){run_norm_grad, s};
    return 0;
}

const struct cuda_rule cuda_norm_grad_rule = {query_norm_grad, bind_norm_grad};
