#include "trainer/backend/ref/ref.h"

#include "common/cleanup.h"
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/base/value.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/host_memory.h"

#include <stdlib.h>
#include <string.h>

/* The reference backend defines every operator: all tensors are widened to double, a body from
 * dense/ or detect/ computes in plain loops, and results are rounded to the tensors' types. It is
 * slow by design; tests compare other backends with it, and any machine can run it.
 *
 * Scratch holds the doubles of all inputs and outputs, one after another in the order of slots, so
 * bodies can neither alias nor overwrite each other's tensors, and everything may work in place. */

static ref_body *const bodies[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, ...) [OP_##kind] = ref_##ref,
#include "trainer/graph/ops.def"
};

/* A bound operator: the body's call, and the real addresses of its tensors. */
struct ref_step {
    struct ref_call call;
    enum dtype in_type[OP_INPUTS_MAX], out_type[OP_OUTPUTS_MAX];
    void *in[OP_INPUTS_MAX], *out[OP_OUTPUTS_MAX];
};

/* Inputs that an operator updates, such as running statistics, are written back last
 * (op_updates). */
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

/* A program's scratch is shared, so the largest operator decides about it. */
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

/* Shapes and types are copied; the graph may be gone when the step runs. */
static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    (void)backend;
    struct ref_step *step = calloc(1, sizeof(*step));
    if (step == NULL)
        return error_no_memory(err, "an operator");
    step->call.op = *op;
    step->call.dtype = graph->dtype;
    double *scratch = addresses->scratch;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        if (op->inputs[i] == TENSOR_NONE)
            continue;
        step->in[i] = addresses->inputs[i];
        step->in_type[i] = graph->tensors[op->inputs[i]].dtype;
        step->call.in_shape[i] = graph->tensors[op->inputs[i]].shape;
        step->call.in[i] = scratch;
        scratch += wide_count(graph, op->inputs[i]);
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (op->outputs[i] == TENSOR_NONE)
            continue;
        step->out[i] = addresses->outputs[i];
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
