/* Convolution and its data gradient by oneDNN. Activations are NHWC; the primitive chooses the
 * layout of the weights. Each operator keeps a packed copy in that layout (and in the activation
 * type), which `refresh` updates from the f32 master weights; if the master weights already have
 * the required layout, the primitive reads them directly. */
#include "trainer/backend/cpu/conv/conv_plan.h"

#include <string.h>

/* A plan (conv_plan.h) is made twice: once by `query`, for the sizes of scratch and packed weights,
 * and once by `bind`, for the primitive. oneDNN chooses by descriptors and the number of threads,
 * so both calls get the same answer. The plan is freed after `bind`: a primitive does not need its
 * descriptor any more.
 *
 * The operators are rows of the table in conv_operators.c, where oneDNN's come last and take every
 * convolution that no other kernel has: any window, any number of groups. conv_dnn_weight.c makes
 * its plans with conv_plan_make(), too; conv_affine.c has its own, as its primitive has an
 * epilogue. */

struct conv {
    struct cpu_step step;
    struct dnn_call call;
    struct dnn_call reorder; /* packs the weights; primitive NULL: not needed */
    void *cleared;           /* before each run: gradient of channels without weights, set to
                              * zero */
    size_t cleared_bytes;
};

/* For a forward convolution `desc` is `forward` itself, which must not be destroyed twice. */
void conv_plan_done(struct conv_plan *plan) {
    dnnl_memory_desc_t descs[] = {plan->x, plan->w, plan->y, plan->master};
    for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
        if (descs[i] != NULL)
            dnnl_memory_desc_destroy(descs[i]);
    if (plan->desc != NULL && plan->desc != plan->forward)
        dnnl_primitive_desc_destroy(plan->desc);
    if (plan->forward != NULL)
        dnnl_primitive_desc_destroy(plan->forward);
    *plan = (struct conv_plan){0};
}

/* The padding at the far side follows from both shapes instead of the window: the shape rule rounds
 * down, so rows that fill no window make it negative, and oneDNN accepts that. */
struct conv_window conv_window_of(const struct op_window *window, const struct shape *x,
                                  const struct shape *y) {
    struct conv_window ret = {.stride = {window->stride, window->stride}};
    for (int i = 0; i < 2; i++) {
        ret.near[i] = op_window_pad(window, i);
        ret.far[i] = (y->dim[1 + i] - 1) * window->stride + op_window_kernel(window, i) -
                     x->dim[1 + i] - ret.near[i];
    }
    return ret;
}

int64_t conv_channels_read(const struct op_window *window, const struct shape *w) {
    return w->dim[3] * op_window_groups(window);
}

/* Fills the descriptors of the tensors. Weights are left to the primitive ("any"), except for the
 * master copy, which has a fixed layout. A weight gradient is f32 in every mode, like the master
 * weights. */
static int describe(struct conv_plan *plan, const struct cpu *cpu, const struct op *op,
                    const struct conv_tensors *t, struct error *err) {
    const int64_t *x = t->x->shape.dim, *y = t->y->shape.dim;
    const struct shape *w = &t->w->shape;
    const int groups = op_window_groups(&op->attr.window);
    dnnl_dims_t x_dims = {x[0], conv_channels_read(&op->attr.window, w), x[1], x[2]};
    dnnl_dims_t y_dims = {y[0], y[3], y[1], y[2]};
    dnnl_data_type_t type = dnn_type(cpu, t->x->dtype);
    dnnl_data_type_t w_type = op->kind == OP_CONV2D_GRAD_WEIGHT ? dnnl_f32 : type;
    if (dnn_desc_channels_last(&plan->x, x_dims, type, x[3], err) != 0 ||
        dnn_desc_channels_last(&plan->y, y_dims, type, y[3], err) != 0 ||
        dnn_desc_weights(&plan->master, w, groups, dnnl_f32, err) != 0)
        return -1;
    return dnn_desc_weights_any(&plan->w, w, groups, w_type, err);
}

/* Makes the primitive's descriptor. oneDNN requires a forward descriptor as a hint for both
 * gradients, with weights of the activation's type, even where the gradient's own are f32. */
static int choose(struct conv_plan *plan, const struct cpu *cpu, const struct op *op,
                  const struct conv_tensors *t, dnnl_primitive_attr_t attr, struct error *err) {
    const enum op_kind kind = op->kind;
    const struct conv_window v = conv_window_of(&op->attr.window, &t->x->shape, &t->y->shape);
    dnnl_memory_desc_t forward_w = NULL;
    if (dnn_desc_weights_any(&forward_w, &t->w->shape, op_window_groups(&op->attr.window),
                             dnn_type(cpu, t->x->dtype), err) != 0)
        return -1;
    dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(
        &plan->forward, cpu->engine, dnnl_forward_training, dnnl_convolution_direct, plan->x,
        forward_w, NULL, plan->y, v.stride, v.dilation, v.near, v.far, attr);
    dnnl_memory_desc_destroy(forward_w);
    if (status == dnnl_success && kind == OP_CONV2D)
        plan->desc = plan->forward;
    else if (status == dnnl_success && kind == OP_CONV2D_GRAD_DATA)
        status = dnnl_convolution_backward_data_primitive_desc_create(
            &plan->desc, cpu->engine, dnnl_convolution_direct, plan->x, plan->w, plan->y, v.stride,
            v.dilation, v.near, v.far, plan->forward, attr);
    else if (status == dnnl_success)
        status = dnnl_convolution_backward_weights_primitive_desc_create(
            &plan->desc, cpu->engine, dnnl_convolution_direct, plan->x, plan->w, NULL, plan->y,
            v.stride, v.dilation, v.near, v.far, plan->forward, attr);
    return dnn_check(status, "convolution", err);
}

/* `packs` is false only if the primitive reads the f32 master weights where they are. Weights that
 * are widened from bf16 are always packed, because their values must be rounded to bf16 first. */
int conv_plan_make(struct conv_plan *plan, const struct cpu *cpu, const struct conv_tensors *t,
                   const struct op *op, struct error *err) {
    dnnl_primitive_attr_t attr = NULL;
    if (describe(plan, cpu, op, t, err) != 0 || dnn_attr(&attr, err) != 0)
        return -1;
    int result = choose(plan, cpu, op, t, attr, err);
    dnnl_primitive_attr_destroy(attr);
    if (result != 0)
        return -1;
    dnnl_query_t what =
        op->kind == OP_CONV2D_GRAD_WEIGHT ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    bool rounds = op->kind != OP_CONV2D_GRAD_WEIGHT && dnn_widens(cpu, t->x->dtype);
    plan->chosen = dnn_chosen(plan->desc, what);
    plan->packs = rounds || !dnnl_memory_desc_equal(plan->chosen, plan->master);
    plan->scratchpad = dnn_chosen_bytes(plan->desc, dnnl_query_scratchpad_md);
    return 0;
}

/* Scratch holds the widened copies of both activations, if oneDNN computes in f32 for bf16 tensors,
 * and then oneDNN's own scratchpad. bind_call() lays them out in the same order. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct conv_plan plan = {0};
    struct conv_tensors t = conv_tensors_of(graph, op);
    int result = conv_plan_make(&plan, cpu, &t, op, err);
    if (result == 0) {
        ret_needs->scratch =
            dnn_wide_bytes(cpu, t.x) + dnn_wide_bytes(cpu, t.y) + backend_aligned(plan.scratchpad);
        ret_needs->packed =
            plan.packs ? backend_aligned(dnnl_memory_desc_get_size(plan.chosen)) : 0;
    }
    conv_plan_done(&plan);
    return result;
}

static int run(void *context, struct error *err) {
    struct conv *conv = context;
    if (conv->cleared_bytes > 0)
        memset(conv->cleared, 0, conv->cleared_bytes);
    return dnn_call_run(&conv->call, conv->step.cpu, err);
}

static int run_refresh(void *context, struct error *err) {
    struct conv *conv = context;
    return dnn_call_run(&conv->reorder, conv->step.cpu, err);
}

static void done(void *context) {
    struct conv *conv = context;
    dnn_call_done(&conv->call);
    dnn_call_done(&conv->reorder);
}

/* oneDNN's argument numbers of the first operand, the weights and the result. */
struct conv_args {
    int first, second, result;
};

static const struct conv_args forward_args = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
static const struct conv_args grad_data_args = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS,
                                                DNNL_ARG_DIFF_SRC};

/* Binds the arguments in the order in which scratch was counted: first operand, result, scratchpad.
 *
 * The stem's picture is stored with more channels than its weights have. oneDNN then writes only
 * the channels that it knows, with strides between them, so the data gradient of the others has to
 * be cleared before each run. */
static int bind_call(struct conv *conv, struct conv_plan *plan, const struct conv_tensors *t,
                     const struct op *op, const struct op_addresses *addresses, struct error *err) {
    const struct conv_args *args = op->kind == OP_CONV2D ? &forward_args : &grad_data_args;
    const struct cpu *cpu = conv->step.cpu;
    bool forward = args == &forward_args;
    char *scratch = addresses->scratch;
    void *weights = plan->packs ? addresses->packed : addresses->inputs[1];
    if (plan->packs && dnn_call_pack(&conv->reorder, cpu, t->x->dtype, plan->master,
                                     addresses->inputs[1], plan->chosen, weights, err) != 0)
        return -1;
    if (dnn_call_init(&conv->call, plan->desc, err) != 0 ||
        dnn_call_tensor(&conv->call, cpu, args->first, forward ? plan->x : plan->y,
                        forward ? t->x : t->y, addresses->inputs[0], &scratch, err) != 0 ||
        dnn_call_arg(&conv->call, cpu, args->second, plan->chosen, weights, err) != 0)
        return -1;
    if (!forward && t->x->shape.dim[3] != conv_channels_read(&op->attr.window, &t->w->shape)) {
        size_t wide = dnn_wide_bytes(cpu, t->x);
        conv->cleared = wide > 0 ? scratch : addresses->outputs[0];
        conv->cleared_bytes = wide > 0 ? wide : tensor_bytes(t->x);
    }
    if (dnn_call_tensor(&conv->call, cpu, args->result, forward ? plan->y : plan->x,
                        forward ? t->y : t->x, addresses->outputs[0], &scratch, err) != 0)
        return -1;
    return dnn_call_arg(&conv->call, cpu, DNNL_ARG_SCRATCHPAD,
                        dnn_chosen(plan->desc, dnnl_query_scratchpad_md), scratch, err);
}

/* On failure the step stays in RET_BOUND, and the caller (cpu.c) releases it with what was made so
 * far. */
static int bind_with(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    struct conv *conv = cpu_step_new(cpu, sizeof *conv, run, done, ret_bound, err);
    if (conv == NULL)
        return -1;
    struct conv_plan plan = {0};
    struct conv_tensors t = conv_tensors_of(graph, op);
    int result = conv_plan_make(&plan, cpu, &t, op, err);
    if (result == 0)
        result = bind_call(conv, &plan, &t, op, addresses, err);
    if (result == 0 && plan.packs)
        ret_bound->refresh = (struct bound_step){.run = run_refresh, .context = conv};
    conv_plan_done(&plan);
    return result;
}

static bool is_product(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    (void)cpu;
    (void)graph;
    return op->kind == OP_CONV2D || op->kind == OP_CONV2D_GRAD_DATA;
}

const struct conv_kernel conv_dnn_kernel = {
    .family = CPU_CONVS_ONEDNN, .has = is_product, .query = query, .bind = bind_with};
