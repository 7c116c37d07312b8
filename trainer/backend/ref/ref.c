#include "ref/ref.h"

#include "backend/host_memory.h"
#include "common/cleanup.h"
#include "graph/graph.h"
#include "ref/body.h"
#include "ref/value.h"

#include <stdlib.h>
#include <string.h>

static ref_body *const bodies[OP_KINDS] = {
    [OP_IMAGE_NORMALIZE] = ref_image_normalize,
    [OP_CONV2D] = ref_conv2d,
    [OP_CONV2D_GRAD_DATA] = ref_conv2d_grad_data,
    [OP_CONV2D_GRAD_WEIGHT] = ref_conv2d_grad_weight,
    [OP_BATCH_NORM] = ref_batch_norm,
    [OP_BATCH_NORM_RELU] = ref_batch_norm,
    [OP_BATCH_NORM_ADD_RELU] = ref_batch_norm,
    [OP_BATCH_NORM_DUAL_ADD_RELU] = ref_batch_norm,
    [OP_BATCH_NORM_RELU_MAX_POOL] = ref_batch_norm,
    [OP_BATCH_NORM_GRAD] = ref_batch_norm_grad,
    [OP_BATCH_NORM_RELU_GRAD] = ref_batch_norm_grad,
    [OP_BATCH_NORM_ADD_RELU_GRAD] = ref_batch_norm_grad,
    [OP_BATCH_NORM_DUAL_ADD_RELU_GRAD] = ref_batch_norm_grad,
    [OP_BATCH_NORM_RELU_MAX_POOL_GRAD] = ref_batch_norm_grad,
    [OP_BATCH_NORM_INFERENCE] = ref_batch_norm_inference,
    [OP_BATCH_NORM_INFERENCE_RELU] = ref_batch_norm_inference,
    [OP_BATCH_NORM_INFERENCE_ADD_RELU] = ref_batch_norm_inference,
    [OP_BATCH_NORM_INFERENCE_DUAL_ADD_RELU] = ref_batch_norm_inference,
    [OP_RELU] = ref_relu,
    [OP_RELU_GRAD] = ref_relu_grad,
    [OP_ADD] = ref_add,
    [OP_ADD_RELU] = ref_add_relu,
    [OP_MAX_POOL] = ref_max_pool,
    [OP_MAX_POOL_GRAD] = ref_max_pool_grad,
    [OP_GLOBAL_AVG_POOL] = ref_global_avg_pool,
    [OP_GLOBAL_AVG_POOL_GRAD] = ref_global_avg_pool_grad,
    [OP_LINEAR] = ref_linear,
    [OP_LINEAR_GRAD_DATA] = ref_linear_grad_data,
    [OP_LINEAR_GRAD_WEIGHT] = ref_linear_grad_weight,
    [OP_SOFTMAX_CROSS_ENTROPY] = ref_softmax_cross_entropy,
    [OP_SOFTMAX_CROSS_ENTROPY_GRAD] = ref_softmax_cross_entropy_grad,
    [OP_CONV2D_STATS] = ref_fused_conv2d,
    [OP_NORM_CONV2D_STATS] = ref_fused_conv2d,
    [OP_JOIN_CONV2D_STATS] = ref_fused_conv2d,
    [OP_DUAL_JOIN_CONV2D_STATS] = ref_fused_conv2d,
    [OP_NORM_FINALIZE] = ref_norm_finalize,
    [OP_NORM_APPLY_RELU] = ref_norm_apply,
    [OP_JOIN_APPLY_RELU] = ref_norm_apply,
    [OP_DUAL_JOIN_APPLY_RELU] = ref_norm_apply,
    [OP_NORM_CONV2D_GRAD_WEIGHT] = ref_norm_conv2d_grad_weight,
    [OP_CONV2D_GRAD_DATA_NORM] = ref_conv2d_grad_data_norm,
    [OP_CONV2D_GRAD_DATA_ADD_NORM] = ref_conv2d_grad_data_norm,
    [OP_CONV2D_GRAD_DATA_ADD_JOIN] = ref_conv2d_grad_data_norm,
    [OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN] = ref_conv2d_grad_data_norm,
    [OP_NORM_GRAD_APPLY] = ref_norm_grad_apply,
};

/* A bound operator: the body's call, and where its tensors really lie. */
struct ref_step {
    struct ref_call call;
    enum dtype in_type[OP_INPUTS_MAX], out_type[OP_OUTPUTS_MAX];
    void *in[OP_INPUTS_MAX], *out[OP_OUTPUTS_MAX];
    bool round_weights; /* input 1 is a weight that is used in the activation type */
};

static int run(void *context, struct error *err) {
    const struct ref_step *step = context;
    const struct ref_call *call = &step->call;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (step->in[i] != NULL)
            ref_widen(call->in[i], step->in[i], step->in_type[i],
                      (size_t)shape_count(&call->in_shape[i]));
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (step->out[i] != NULL)
            memset(call->out[i], 0, (size_t)shape_count(&call->out_shape[i]) * sizeof(double));
    if (step->round_weights)
        for (int64_t i = 0; i < shape_count(&call->in_shape[1]); i++)
            call->in[1][i] = ref_round(call->dtype, call->in[1][i]);
    if (bodies[call->op.kind](call, err) != 0)
        return -1;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (step->out[i] != NULL)
            ref_narrow(step->out[i], call->out[i], step->out_type[i],
                       (size_t)shape_count(&call->out_shape[i]));
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (step->in[i] != NULL && op_updates(call->op.kind, i))
            ref_narrow(step->in[i], call->in[i], step->in_type[i],
                       (size_t)shape_count(&call->in_shape[i]));
    return 0;
}

static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind < OP_KINDS;
}

static size_t wide_count(const struct graph *graph, int tensor) {
    return tensor == TENSOR_NONE ? 0 : (size_t)tensor_count(&graph->tensors[tensor]);
}

static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)backend;
    (void)err;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        ret_needs->scratch += wide_count(graph, op->inputs[i]) * sizeof(double);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        ret_needs->scratch += wide_count(graph, op->outputs[i]) * sizeof(double);
    ret_needs->in_place = true;
    return 0;
}

static bool uses_weights(enum op_kind kind) {
    switch (kind) {
    case OP_CONV2D:
    case OP_CONV2D_GRAD_DATA:
    case OP_LINEAR:
    case OP_LINEAR_GRAD_DATA:
    case OP_CONV2D_STATS:
    case OP_NORM_CONV2D_STATS:
    case OP_JOIN_CONV2D_STATS:
    case OP_DUAL_JOIN_CONV2D_STATS:
    case OP_CONV2D_GRAD_DATA_NORM:
    case OP_CONV2D_GRAD_DATA_ADD_NORM:
    case OP_CONV2D_GRAD_DATA_ADD_JOIN:
    case OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN:
        return true;
    default:
        return false;
    }
}

static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct backend_site *site, struct backend_bound *ret_bound,
                struct error *err) {
    (void)backend;
    struct ref_step *step = calloc(1, sizeof(*step));
    if (step == NULL)
        return error_no_memory(err, "an operator");
    step->call.op = *op;
    step->call.dtype = graph->dtype;
    step->round_weights = uses_weights(op->kind);
    double *scratch = site->scratch;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        if (op->inputs[i] == TENSOR_NONE)
            continue;
        step->in[i] = site->inputs[i];
        step->in_type[i] = graph->tensors[op->inputs[i]].dtype;
        step->call.in_shape[i] = graph->tensors[op->inputs[i]].shape;
        step->call.in[i] = scratch;
        scratch += wide_count(graph, op->inputs[i]);
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (op->outputs[i] == TENSOR_NONE)
            continue;
        step->out[i] = site->outputs[i];
        step->out_type[i] = graph->tensors[op->outputs[i]].dtype;
        step->call.out_shape[i] = graph->tensors[op->outputs[i]].shape;
        step->call.out[i] = scratch;
        scratch += wide_count(graph, op->outputs[i]);
    }
    ret_bound->step = (struct bound_step){.run = run, .context = step};
    return 0;
}

static void release(struct backend *backend, void *context) {
    (void)backend;
    free(context);
}

static const char *describe(const struct backend *backend) {
    (void)backend;
    return "ref: plain loops in double, one thread";
}

static void close_backend(struct backend *backend) {
    free(backend);
}

static const struct backend_table table = {
    .name = "ref",
    .supports = supports,
    .query = query,
    .bind = bind,
    .release = release,
    .alloc = host_memory_alloc,
    .free = host_memory_free,
    .copy_in = host_memory_copy,
    .copy_out = host_memory_copy,
    .sync = host_memory_sync,
    .describe = describe,
    .close = close_backend,
};

int ref_open(struct backend **ret_backend, struct error *err) {
    struct backend *backend = calloc(1, sizeof(*backend));
    if (backend == NULL)
        return error_no_memory(err, "the reference backend");
    backend->table = &table;
    *ret_backend = backend;
    return 0;
}
