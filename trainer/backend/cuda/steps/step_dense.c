#include "trainer/backend/cuda/base/context.h"

_Static_assert((int)CONCAT_INPUTS == (int)LAUNCH_MAPS_MAX, "a launch takes all maps");
#include "trainer/math/dropout.h"

/* Operators that are one launch each (kernels/dense.cu and others). A rule has two functions:
 * `query` says what memory the operator needs, `bind` copies addresses and sizes into a step, and
 * the step's `run` is a single launch. Sizes never change after binding, so a recorded step can be
 * replayed with the same arguments.
 *
 * Rules without a query need no memory; those with cuda_query_in_place may write over their first
 * input, because every element depends on itself alone. */

/* --- biases ----------------------------------------------------------------------------------- */

/* The sum over rows that a bias's gradient is goes through SCRATCH if there are many rows
 * (launch_column_sum_bytes). */
struct bias_step {
    struct cuda_step step;
    const void *x;
    const float *bias;
    void *y;
    float *sums, *partial;
    size_t rows;
    int channels;
    bool relu;
};

/* y = x + bias, with the ReLU in the same launch. */
static int run_bias(void *context, struct error *err) {
    struct bias_step *s = context;
    cudaError_t status = launch_bias(s->step.cuda->stream, s->step.type, s->x, s->bias, s->y,
                                     s->rows, s->channels, s->relu);
    return cuda_step_check(&s->step, status, err);
}

/* X is dy here: new_bias() takes input 0 of either operator. */
static int run_bias_grad(void *context, struct error *err) {
    struct bias_step *s = context;
    cudaError_t status = launch_column_sum(s->step.cuda->stream, s->step.type, s->sums, s->x,
                                           (int)s->rows, s->channels, s->partial);
    return cuda_step_check(&s->step, status, err);
}

/* Sets what both operators share; `run` is the caller's to set. NULL with an error. Rows are all
 * dimensions but the last. */
static struct bias_step *new_bias(struct cuda *cuda, const struct graph *graph, const struct op *op,
                                  const struct op_addresses *addresses, struct error *err) {
    struct bias_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return NULL;
    s->x = addresses->inputs[0];
    s->rows = cuda_rows(cuda_input(graph, op, 0));
    s->channels = cuda_channels(cuda_input(graph, op, 0));
    return s;
}

/* The bias is f32 in every mode. */
static int bind_bias(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct bias_step *s = new_bias(cuda, graph, op, addresses, err);
    if (s == NULL)
        return -1;
    s->bias = addresses->inputs[1];
    s->y = addresses->outputs[0];
    s->relu = op->attr.relu;
    bound->step = (struct bound_step){run_bias, s};
    return 0;
}

const struct cuda_rule cuda_bias_rule = {cuda_query_in_place, bind_bias};

/* Sums over all pixels of a batch, by blocks in a fixed order. */
static int query_bias_grad(struct cuda *cuda, const struct graph *graph, const struct op *op,
                           struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    const struct tensor *dy = cuda_input(graph, op, 0);
    needs->scratch = launch_column_sum_bytes((int)cuda_rows(dy), cuda_channels(dy));
    return 0;
}

/* The gradient is f32, like the bias. */
static int bind_bias_grad(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    struct bias_step *s = new_bias(cuda, graph, op, addresses, err);
    if (s == NULL)
        return -1;
    s->sums = addresses->outputs[0];
    s->partial = addresses->scratch;
    bound->step = (struct bound_step){run_bias_grad, s};
    return 0;
}

const struct cuda_rule cuda_bias_grad_rule = {query_bias_grad, bind_bias_grad};

/* --- dropout --------------------------------------------------------------------------------- */

/* The launcher's arguments are the whole step. */
struct dropout_step {
    struct cuda_step step;
    struct dropout_args args;
};

/* Backwards too: the gradient is the same operator on dy, with the same key. */
static int run_dropout(void *context, struct error *err) {
    struct dropout_step *s = context;
    return cuda_step_check(&s->step, launch_dropout(s->step.cuda->stream, s->step.type, &s->args),
                           err);
}

/* BOUND is the integer below which an element's random number drops it, and SCALE keeps the
 * expected value (math/dropout.h). The key is data of the batch, read at each run. A sample has a
 * key of its own, so its mask does not depend on the batch around it. */
static int bind_dropout(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *bound,
                        struct error *err) {
    struct dropout_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *x = cuda_input(graph, op, 0);
    s->args = (struct dropout_args){
        .x = addresses->inputs[0],
        .key = addresses->inputs[1],
        .y = addresses->outputs[0],
        .samples = (size_t)x->shape.dim[0],
        .count = (size_t)tensor_count(x) / (size_t)x->shape.dim[0],
        .bound = dropout_bound(op->attr.rate),
        .scale = (float)(1 / (1 - op->attr.rate)),
        .layer = op->attr.layer,
    };
    bound->step = (struct bound_step){run_dropout, s};
    return 0;
}

const struct cuda_rule cuda_dropout_rule = {cuda_query_in_place, bind_dropout};

/* --- maps of half the size -------------------------------------------------------------------- */

/* ROWS and WIDTH are those of the small map; SMALL is NULL for the gradient. */
struct upsample_step {
    struct cuda_step step;
    const void *large, *small;
    void *result;
    size_t rows, width;
    int channels;
};

/* One step for both directions; which launch it is follows from SMALL. Sizes in the launch are the
 * small map's in both. */
static int run_upsample(void *context, struct error *err) {
    struct upsample_step *s = context;
    cudaStream_t stream = s->step.cuda->stream;
    cudaError_t status = s->small != NULL
                             ? launch_upsample_add(stream, s->step.type, s->large, s->small,
                                                   s->result, s->rows, s->width, s->channels)
                             : launch_upsample_grad(stream, s->step.type, s->large, s->result,
                                                    s->rows, s->width, s->channels);
    return cuda_step_check(&s->step, status, err);
}

/* Adding may happen in place of the large map. The gradient of the large map is dy itself and needs
 * no operator. Rows are counted over all pictures, since their heights are even. */
static int bind_upsample(struct cuda *cuda, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *bound,
                         struct error *err) {
    struct upsample_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    bool add = op->kind == OP_UPSAMPLE_ADD;
    const struct tensor *small = add ? cuda_input(graph, op, 1) : cuda_output(graph, op, 0);
    s->large = addresses->inputs[0];
    s->small = add ? addresses->inputs[1] : NULL;
    s->result = addresses->outputs[0];
    s->rows = (size_t)(small->shape.dim[0] * small->shape.dim[1]);
    s->width = (size_t)small->shape.dim[2];
    s->channels = cuda_channels(small);
    bound->step = (struct bound_step){run_upsample, s};
    return 0;
}

const struct cuda_rule cuda_upsample_add_rule = {cuda_query_in_place, bind_upsample};
const struct cuda_rule cuda_upsample_grad_rule = {NULL, bind_upsample};

/* --- the gradient of frozen norms ------------------------------------------------------------- */

/* A norm with constant statistics, as detectors have in their backbones. Only its gradient is an
 * operator here; forward, it is folded into a convolution or applied by step_norm.c. */
struct frozen_step {
    struct cuda_step step;
    struct frozen_grad_args args;
};

/* Mask and both scales in one pass over dy. */
static int run_frozen(void *context, struct error *err) {
    struct frozen_step *s = context;
    return cuda_step_check(&s->step,
                           launch_frozen_grad(s->step.cuda->stream, s->step.type, &s->args), err);
}

/* What an operator lacks is NULL: the mask's y, or the second norm and its result for the side of a
 * join. gamma2 NULL leaves the side's gradient unscaled. */
static int bind_frozen(struct cuda *cuda, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *bound,
                       struct error *err) {
    struct frozen_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *dy = cuda_input(graph, op, FROZEN_GRAD_DY);
    s->args = (struct frozen_grad_args){.dy = addresses->inputs[FROZEN_GRAD_DY],
                                        .y = addresses->inputs[FROZEN_GRAD_Y],
                                        .gamma = addresses->inputs[FROZEN_GRAD_GAMMA],
                                        .variance = addresses->inputs[FROZEN_GRAD_VARIANCE],
                                        .gamma2 = addresses->inputs[FROZEN_GRAD_GAMMA2],
                                        .variance2 = addresses->inputs[FROZEN_GRAD_VARIANCE2],
                                        .dx = addresses->outputs[FROZEN_GRAD_DX],
                                        .dside = addresses->outputs[FROZEN_GRAD_DSIDE],
                                        .rows = cuda_rows(dy),
                                        .channels = cuda_channels(dy),
                                        .epsilon = (float)op->attr.epsilon};
    bound->step = (struct bound_step){run_frozen, s};
    return 0;
}

const struct cuda_rule cuda_frozen_norm_grad_rule = {cuda_query_in_place, bind_frozen};

/* --- maps side by side ------------------------------------------------------------------------ */

/* Maps are joined along their channels, for every pixel. LAUNCH_MAPS_MAX of them fit into the
 * kernel's arguments. */
struct concat_step {
    struct cuda_step step;
    struct concat_args args;
};

/* Both operators are the same launch: a range of the channels of one map, or several maps one after
 * another. Copies of whole channels; nothing is computed, so bits are kept. */
static int run_concat(void *context, struct error *err) {
    struct concat_step *s = context;
    return cuda_step_check(&s->step, launch_concat(s->step.cuda->stream, s->step.type, &s->args),
                           err);
}

/* END is the running sum of channels, by which a thread finds its map. The inputs end with the
 * first absent one; a range begins at the attribute's channel. Both rules have no query: outputs
 * never overlap inputs. */
static int bind_maps(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct concat_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *y = cuda_output(graph, op, 0);
    const int most = op->kind == OP_CONCAT ? CONCAT_INPUTS : 1;
    struct concat_args *args = &s->args;
    *args = (struct concat_args){.first = op->attr.channel,
                                 .y = addresses->outputs[0],
                                 .y_channels = cuda_channels(y),
                                 .rows = cuda_rows(y)};
    for (int i = 0, end = 0; i < most && op->inputs[i] != TENSOR_NONE; i++, args->count++) {
        args->from[i] = addresses->inputs[i];
        args->channels[i] = cuda_channels(cuda_input(graph, op, i));
        args->end[i] = end += args->channels[i];
    }
    bound->step = (struct bound_step){run_concat, s};
    return 0;
}

const struct cuda_rule cuda_concat_rule = {NULL, bind_maps};
const struct cuda_rule cuda_take_channels_rule = {NULL, bind_maps};
