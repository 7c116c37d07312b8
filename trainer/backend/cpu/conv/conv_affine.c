/* A convolution with the bias or frozen norm after it, a sum and a ReLU, as one oneDNN primitive.
 * A norm is folded into the weights (conv_fold.h). */
#include "trainer/backend/cpu/base/dnn.h"
#include "trainer/backend/cpu/conv/conv_fold.h"
#include "trainer/backend/cpu/conv/conv_plan.h"

/* Addition and ReLU are post-operations of the primitive, so the result is written once. The
 * shortcut is a binary operand with the layout of the result. In training the epilogue is fused,
 * too: the backward pass masks by the stored result. */

/* CALL is the convolution of every step. REORDER brings the folded weights into the layout that
 * oneDNN has chosen, and runs when parameters have changed. */
struct affine {
    struct cpu_step step;
    struct dnn_call call, reorder;
    struct conv_fold fold;
};

/* W is in oneDNN's layout, everything else as it lies in memory; MASTER is the folded weights in
 * f32. */
struct affine_plan {
    dnnl_memory_desc_t x, w, y, master, bias;
    dnnl_primitive_desc_t desc;
};

/* Also after a plan_make() that failed halfway. */
static void plan_done(struct affine_plan *p) {
    dnnl_memory_desc_t descs[] = {p->x, p->w, p->y, p->master, p->bias};
    for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
        if (descs[i] != NULL)
            dnnl_memory_desc_destroy(descs[i]);
    if (p->desc != NULL)
        dnnl_primitive_desc_destroy(p->desc);
    *p = (struct affine_plan){0};
}

/* Channels that the weights do not read are padding of a pixel in x: dimensions leave them out,
 * strides step over them. The bias is f32 with any type of activations. */
static int describe(struct affine_plan *p, const struct cpu *cpu, const struct tensor *tx,
                    const struct tensor *tw, const struct tensor *ty,
                    const struct op_window *window, struct error *err) {
    const int64_t *x = tx->shape.dim, *y = ty->shape.dim;
    dnnl_dims_t x_dims = {x[0], conv_channels_read(window, &tw->shape), x[1], x[2]};
    dnnl_dims_t y_dims = {y[0], y[3], y[1], y[2]}, bias_dims = {y[3]};
    const int groups = op_window_groups(window);
    dnnl_data_type_t type = dnn_type(cpu, tx->dtype);
    if (dnn_desc_channels_last(&p->x, x_dims, type, x[3], err) != 0 ||
        dnn_desc_channels_last(&p->y, y_dims, type, y[3], err) != 0 ||
        dnn_desc_weights(&p->master, &tw->shape, groups, dnnl_f32, err) != 0 ||
        dnn_desc_weights_any(&p->w, &tw->shape, groups, type, err) != 0)
        return -1;
    return dnn_check(dnnl_memory_desc_create_with_tag(&p->bias, 1, bias_dims, dnnl_f32, dnnl_a),
                     "bias", err);
}

/* A temporary plan, for the sizes in `query` and for the primitive in `bind`. Both times the choice
 * is the same, as it depends on shapes and the number of threads. The shortcut has y's descriptor
 * and needs none of its own. */
static int plan_make(struct affine_plan *p, const struct cpu *cpu, const struct graph *graph,
                     const struct op *op, struct error *err) {
    const struct tensor *tx = cpu_input(graph, op, AFFINE_X), *tw = cpu_input(graph, op, AFFINE_W);
    const struct tensor *ty = cpu_output(graph, op, 0);
    const struct op_window *window = &op->attr.window;
    const struct conv_window v = conv_window_of(window, &tx->shape, &ty->shape);
    dnnl_primitive_attr_t attr = NULL;
    if (describe(p, cpu, tx, tw, ty, window, err) != 0 || dnn_attr(&attr, err) != 0)
        return -1;
    const_dnnl_memory_desc_t added = op->inputs[AFFINE_SIDE] == TENSOR_NONE ? NULL : p->y;
    int result = dnn_attr_epilogue(attr, added, op->attr.relu, err);
    if (result == 0)
        result =
            dnn_check(dnnl_convolution_forward_primitive_desc_create(
                          &p->desc, cpu->engine, dnnl_forward_training, dnnl_convolution_direct,
                          p->x, p->w, p->bias, p->y, v.stride, v.dilation, v.near, v.far, attr),
                      "convolution", err);
    dnnl_primitive_attr_destroy(attr);
    return result;
}

/* Widened copies of input, result and shortcut, in the order of bind_calls(), then oneDNN's
 * scratchpad. Of tensors that are not widened there are no copies. The packed memory begins with
 * the folded values, which a norm needs and a plain bias does not. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct affine_plan p = {0};
    int result = plan_make(&p, cpu, graph, op, err);
    if (result == 0) {
        ret_needs->scratch = 2 * dnn_wide_bytes(cpu, cpu_output(graph, op, 0)) +
                             dnn_wide_bytes(cpu, cpu_input(graph, op, AFFINE_X)) +
                             dnn_chosen_bytes(p.desc, dnnl_query_scratchpad_md);
        ret_needs->packed =
            conv_fold_bytes(graph, op) + dnn_chosen_bytes(p.desc, dnnl_query_weights_md);
    }
    plan_done(&p);
    return result;
}

/* Conversions of widened tensors are part of the call. */
static int run(void *context, struct error *err) {
    struct affine *a = context;
    return dnn_call_run(&a->call, a->step.cpu, err);
}

/* Folding comes first, since the reorder reads its result. */
static int refresh(void *context, struct error *err) {
    struct affine *a = context;
    conv_fold_refresh(&a->fold, a->step.cpu);
    return dnn_call_run(&a->reorder, a->step.cpu, err);
}

/* Only oneDNN's objects: the weights lie in the memory of the program. */
static void done(void *context) {
    struct affine *a = context;
    dnn_call_done(&a->call);
    dnn_call_done(&a->reorder);
}

/* Tensors take their copies from the scratch in the order of these calls; the scratchpad is what is
 * left. Weights are read from where the reorder has put them. */
static int bind_calls(struct affine *a, const struct affine_plan *p, const struct graph *graph,
                      const struct op *op, const struct op_addresses *addresses,
                      struct error *err) {
    const struct cpu *cpu = a->step.cpu;
    const struct tensor *x = cpu_input(graph, op, AFFINE_X), *y = cpu_output(graph, op, 0);
    const_dnnl_memory_desc_t w = dnn_chosen(p->desc, dnnl_query_weights_md);
    void *packed = (char *)addresses->packed + conv_fold_bytes(graph, op);
    char *scratch = addresses->scratch;
    if (dnn_call_pack(&a->reorder, cpu, x->dtype, p->master, a->fold.weights, w, packed, err) !=
            0 ||
        dnn_call_init(&a->call, p->desc, err) != 0 ||
        dnn_call_tensor(&a->call, cpu, DNNL_ARG_SRC, p->x, x, addresses->inputs[AFFINE_X], &scratch,
                        err) != 0 ||
        dnn_call_arg(&a->call, cpu, DNNL_ARG_WEIGHTS, w, packed, err) != 0 ||
        dnn_call_arg(&a->call, cpu, DNNL_ARG_BIAS, p->bias, a->fold.bias, err) != 0 ||
        dnn_call_tensor(&a->call, cpu, DNNL_ARG_DST, p->y, y, addresses->outputs[0], &scratch,
                        err) != 0)
        return -1;
    if (op->inputs[AFFINE_SIDE] != TENSOR_NONE &&
        dnn_call_tensor(&a->call, cpu, DNN_ARG_ADDED, p->y, y, addresses->inputs[AFFINE_SIDE],
                        &scratch, err) != 0)
        return -1;
    return dnn_call_arg(&a->call, cpu, DNNL_ARG_SCRATCHPAD,
                        dnn_chosen(p->desc, dnnl_query_scratchpad_md), scratch, err);
}

/* Without a norm the fold stands for the parameters themselves, and a refresh is the reorder
 * alone. */
static int bind_affine(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *ret_bound,
                       struct error *err) {
    struct affine *a = cpu_step_new(cpu, sizeof *a, run, done, ret_bound, err);
    if (a == NULL)
        return -1;
    conv_fold_place(&a->fold, graph, op, addresses);
    struct affine_plan p = {0};
    int result = plan_make(&p, cpu, graph, op, err);
    if (result == 0)
        result = bind_calls(a, &p, graph, op, addresses, err);
    ret_bound->refresh = (struct bound_step){.run = refresh, .context = a};
    plan_done(&p);
    return result;
}

/* Shapes and types do not matter: oneDNN has a kernel for all of them. */
static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    (void)cpu;
    (void)graph;
    return op->kind == OP_CONV2D_AFFINE;
}

const struct conv_kernel conv_dnn_affine_kernel = {
    .family = CPU_CONVS_ONEDNN, .has = has, .query = query, .bind = bind_affine};
