#include "trainer/backend/cuda/base/context.h"

#include "trainer/backend/cuda/steps/matmul.h"

/* Products are by cuBLASLt (matmul.h), in which an algorithm is chosen once, when the operator is
 * bound. Weights must be of the activation's type: the parameters' half-precision copy serves if
 * there is one, otherwise the step keeps a packed copy, which `refresh` updates. In f32 the arena's
 * own weights are read.
 *
 * Scratch: the library's workspace, and for the weight gradient the partial column sums of the bias
 * gradient after it. */

/* Linear layer and its gradients: one product each. */
struct linear_step {
    struct cuda_step step;
    struct matmul product;
    const void *a, *b;
    void *d, *workspace;
    /* forward and data gradient: weights in the activation's type, the parameters' half-precision
     * copy or packed */
    const float *weights, *bias;
    void *packed, *bias_packed; /* the second may be NULL */
    size_t outputs;
    int inputs;
    /* weight gradient */
    float *dbias;
    float *column_sums; /* of chunks of dy's rows, in scratch */
    const void *dy;
    int batch;
};

/* Weights, or their gradient: [outputs, inputs ...]. */
static const struct tensor *weights_of(const struct graph *graph, const struct op *op) {
    return op->kind == OP_LINEAR_GRAD_WEIGHT ? cuda_output(graph, op, 0) : cuda_input(graph, op, 1);
}

/* The weights in the activation's type, followed, if that is y's type, by the bias: the library
 * needs it in y's type. */
static size_t packed_weights(const struct graph *graph, const struct op *op) {
    size_t bytes = (size_t)tensor_count(weights_of(graph, op)) * dtype_size(graph->dtype);
    return backend_aligned(bytes);
}

/* 0 if the library can read the bias where it is: an f32 result takes the master bias. */
static size_t packed_bias(const struct graph *graph, const struct op *op) {
    if (op->kind != OP_LINEAR || cuda_output(graph, op, 0)->dtype == DTYPE_F32)
        return 0;
    return (size_t)tensor_count(cuda_input(graph, op, 2)) * dtype_size(graph->dtype);
}

/* Both weights and bias need a copy; a step does not mix copies and packing. */
static bool reads_half(const struct graph *graph, const struct op *op) {
    return cuda_has_half(graph, cuda_input(graph, op, 1)) &&
           (op->kind != OP_LINEAR || cuda_has_half(graph, cuda_input(graph, op, 2)));
}

/* A weight gradient has no weights as input, and f32 reads the arena. Then `packed` holds weights
 * and, in a forward pass, the bias. */
static bool needs_packing(const struct graph *graph, const struct op *op) {
    return op->kind != OP_LINEAR_GRAD_WEIGHT && graph->dtype != DTYPE_F32 && !reads_half(graph, op);
}

/* The workspace is as large as the library recommends; it is scratch, shared by all operators. Its
 * alignment exceeds that of arenas (cuda_workspace_bytes). */
static int query_linear(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    needs->scratch = cuda_workspace_bytes(MATMUL_WORKSPACE);
    if (op->kind == OP_LINEAR_GRAD_WEIGHT)
        needs->scratch += launch_column_sum_bytes((int)cuda_rows(cuda_input(graph, op, 0)),
                                                  cuda_channels(cuda_input(graph, op, 0)));
    if (needs_packing(graph, op))
        needs->packed = packed_weights(graph, op) + packed_bias(graph, op);
    return 0;
}

/* On a simulated GPU the product is counted and not made. */
static int run_product(void *context, struct error *err) {
    struct linear_step *s = context;
    struct cuda *cuda = s->step.cuda;
    if (cuda_is_counted(cuda))
        return 0;
    if (matmul_run(&s->product, cuda->lt, cuda->stream, s->a, s->b, s->d, s->workspace, err) != 0)
        return error_wrap(err, "%s %s", s->step.name, s->step.shape);
    return 0;
}

/* dw by the library, then db by a kernel of this backend; both read dy. */
static int run_grad_weight(void *context, struct error *err) {
    struct linear_step *s = context;
    if (run_product(context, err) != 0)
        return -1;
    cudaError_t status = launch_column_sum(s->step.cuda->stream, s->step.type, s->dbias, s->dy,
                                           s->batch, (int)s->outputs, s->column_sums);
    return cuda_step_check(&s->step, status, err);
}

/* The bias is one row of values for the launcher. */
static int refresh_weights(void *context, struct error *err) {
    struct linear_step *s = context;
    cudaError_t status = launch_pack(s->step.cuda->stream, s->step.type, s->packed, s->weights,
                                     s->outputs, s->inputs, s->inputs);
    if (status == cudaSuccess && s->bias_packed != NULL)
        status = launch_pack(s->step.cuda->stream, s->step.type, s->bias_packed, s->bias, 1,
                             (int)s->outputs, (int)s->outputs);
    return cuda_step_check(&s->step, status, err);
}

/* Frees the library's descriptors; addresses are the arenas'. */
static void linear_done(struct cuda_step *step) {
    matmul_done(&((struct linear_step *)step)->product);
}

/* Makes a new step with the common members of the three kinds. The batch is the number of rows of
 * y, and of dy. */
static struct linear_step *new_step(struct cuda *cuda, const struct graph *graph,
                                    const struct op *op, const struct op_addresses *addresses,
                                    struct error *err) {
    struct linear_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return NULL;
    const struct tensor *w = weights_of(graph, op);
    s->step.done = linear_done;
    s->workspace = cuda_workspace(addresses->scratch);
    s->outputs = (size_t)w->shape.dim[0];
    s->inputs = (int)(tensor_count(w) / w->shape.dim[0]);
    s->batch = (int)(op->kind == OP_LINEAR ? cuda_output(graph, op, 0) : cuda_input(graph, op, 0))
                   ->shape.dim[0];
    return s;
}

/* Forward: y = x w^T + bias; data gradient: dx = dy w. Row-major weights [outputs, inputs] are
 * transposed forward and read as they are backwards, so one packed copy would serve both; each
 * operator has its own, as each is bound alone. */
static int bind_linear(struct cuda *cuda, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *bound,
                       struct error *err) {
    struct linear_step *s = new_step(cuda, graph, op, addresses, err);
    if (s == NULL)
        return -1;
    bound->step = (struct bound_step){run_product, s};
    bool forward = op->kind == OP_LINEAR;
    s->weights = addresses->inputs[1];
    s->bias = forward ? addresses->inputs[2] : NULL;
    s->packed = addresses->inputs[1];
    if (needs_packing(graph, op))
        s->packed = addresses->packed;
    else if (reads_half(graph, op))
        s->packed = cuda_half(graph, addresses, addresses->inputs[1]);
    if (packed_bias(graph, op) > 0)
        s->bias_packed = needs_packing(graph, op)
                             ? (char *)addresses->packed + packed_weights(graph, op)
                             : cuda_half(graph, addresses, addresses->inputs[2]);
    s->a = addresses->inputs[0];
    s->b = s->packed;
    s->d = addresses->outputs[0];
    struct matmul_shape shape = {
        .rows = s->batch,
        .columns = forward ? (int)s->outputs : s->inputs,
        .inner = forward ? s->inputs : (int)s->outputs,
        .transpose_b = forward,
        .type = graph->dtype,
        .tf32 = cuda->options.tf32,
        .d_type = cuda_output(graph, op, 0)->dtype,
        .bias = s->bias_packed != NULL ? s->bias_packed : s->bias,
        .relu = forward && op->attr.relu,
    };
    if (matmul_init(&s->product, cuda->lt, &shape, err) != 0)
        return error_wrap(err, "%s", op->name);
    if (needs_packing(graph, op))
        bound->refresh = (struct bound_step){refresh_weights, s};
    return 0;
}

const struct cuda_rule cuda_linear_rule = {query_linear, bind_linear};

/* dw = dy^T x. dw is f32 in every mode: it goes to the arena of gradients. */
static int bind_grad_weight(struct cuda *cuda, const struct graph *graph, const struct op *op,
                            const struct op_addresses *addresses, struct backend_bound *bound,
                            struct error *err) {
    struct linear_step *s = new_step(cuda, graph, op, addresses, err);
    if (s == NULL)
        return -1;
    bound->step = (struct bound_step){run_grad_weight, s};
    s->a = addresses->inputs[0];
    s->b = addresses->inputs[1];
    s->d = addresses->outputs[0];
    s->dy = addresses->inputs[0];
    s->dbias = addresses->outputs[1];
    s->column_sums = (float *)(void *)((char *)s->workspace + MATMUL_WORKSPACE);
    struct matmul_shape shape = {
        .rows = (int)s->outputs,
        .columns = s->inputs,
        .inner = s->batch,
        .transpose_a = true,
        .type = graph->dtype,
        .tf32 = cuda->options.tf32,
        .d_type = DTYPE_F32,
    };
    if (matmul_init(&s->product, cuda->lt, &shape, err) != 0)
        return error_wrap(err, "%s", op->name);
    return 0;
}

const struct cuda_rule cuda_linear_grad_weight_rule = {query_linear, bind_grad_weight};
