#include "trainer/graph/fuse/fuser.h"

/* Returns the fused kind for the gradient of a norm; OP_KINDS: none. */
static enum op_kind fused_kind(enum norm_form form, bool shortcut) {
    switch (form) {
    case NORM_RELU:
        return shortcut ? OP_CONV2D_GRAD_DATA_ADD_NORM : OP_CONV2D_GRAD_DATA_NORM;
    case NORM_ADD_RELU:
        return shortcut ? OP_CONV2D_GRAD_DATA_ADD_JOIN : OP_KINDS;
    case NORM_DUAL_ADD_RELU:
        return shortcut ? OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN : OP_KINDS;
    default:
        return OP_KINDS;
    }
}

static void take_norm_inputs(const struct graph *graph, const struct op *grad, struct op *fused) {
    fused->inputs[GRAD_DATA_NORM_X] = grad->inputs[NORM_GRAD_X];
    fused->inputs[GRAD_DATA_NORM_GAMMA] = grad->inputs[NORM_GRAD_GAMMA];
    fused->inputs[GRAD_DATA_NORM_BETA] = grad->inputs[NORM_GRAD_BETA];
    fused->inputs[GRAD_DATA_NORM_MEAN] = grad->inputs[NORM_GRAD_MEAN];
    fused->inputs[GRAD_DATA_NORM_INVSTD] = grad->inputs[NORM_GRAD_INVSTD];
    if (grad->attr.form == NORM_ADD_RELU)
        fused->inputs[GRAD_DATA_NORM_SIDE] = graph->ops[grad->forward].inputs[NORM_SIDE];
    if (grad->attr.form != NORM_DUAL_ADD_RELU)
        return;
    fused->inputs[GRAD_DATA_NORM_SIDE] = grad->inputs[NORM_GRAD_SIDE];
    fused->inputs[GRAD_DATA_NORM_GAMMA2] = grad->inputs[NORM_GRAD_GAMMA2];
    fused->inputs[GRAD_DATA_NORM_BETA2] = grad->inputs[NORM_GRAD_BETA2];
    fused->inputs[GRAD_DATA_NORM_MEAN2] = grad->inputs[NORM_GRAD_MEAN2];
    fused->inputs[GRAD_DATA_NORM_INVSTD2] = grad->inputs[NORM_GRAD_INVSTD2];
}

static int new_coefficients(struct graph *graph, const struct op *op, int64_t channels,
                            struct error *err) {
    return graph_tensor(graph, op->name, dtype_wide(graph->dtype), shape_2(3, channels),
                        TENSOR_ACTIVATION, err);
}

/* g is the masked gradient, which the join sends to its side anyway. */
static int make_outputs(struct graph *graph, const struct op *grad, struct op *fused,
                        struct error *err) {
    int64_t channels = fused->attr.target.dim[3];
    bool dual = grad->attr.form == NORM_DUAL_ADD_RELU;
    fused->outputs[GRAD_DATA_NORM_G] =
        grad->attr.form == NORM_ADD_RELU ? grad->outputs[NORM_GRAD_DSIDE]
                                         : graph_tensor(graph, grad->name, graph->dtype,
                                                        fused->attr.target, TENSOR_ACTIVATION, err);
    fused->outputs[GRAD_DATA_NORM_DGAMMA] = grad->outputs[NORM_GRAD_DGAMMA];
    fused->outputs[GRAD_DATA_NORM_DBETA] = grad->outputs[NORM_GRAD_DBETA];
    fused->outputs[GRAD_DATA_NORM_COEFFICIENTS] = new_coefficients(graph, grad, channels, err);
    if (fused->outputs[GRAD_DATA_NORM_G] == TENSOR_NONE ||
        fused->outputs[GRAD_DATA_NORM_COEFFICIENTS] == TENSOR_NONE)
        return -1;
    if (!dual)
        return 0;
    fused->outputs[GRAD_DATA_NORM_DGAMMA2] = grad->outputs[NORM_GRAD_DGAMMA2];
    fused->outputs[GRAD_DATA_NORM_DBETA2] = grad->outputs[NORM_GRAD_DBETA2];
    fused->outputs[GRAD_DATA_NORM_COEFFICIENTS2] = new_coefficients(graph, grad, channels, err);
    return fused->outputs[GRAD_DATA_NORM_COEFFICIENTS2] == TENSOR_NONE ? -1 : 0;
}

/* g and x of one of the norms -> its dx, by coefficients. */
static struct op apply_op(const struct op *grad, const struct op *fused, bool second) {
    struct op apply = {.kind = OP_NORM_GRAD_APPLY, .rows = grad->rows, .forward = grad->forward};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        apply.inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        apply.outputs[i] = TENSOR_NONE;
    for (int i = 0; i < TENSOR_NAME_SIZE; i++)
        apply.name[i] = grad->name[i];
    apply.inputs[0] = fused->outputs[GRAD_DATA_NORM_G];
    apply.inputs[1] = fused->inputs[second ? GRAD_DATA_NORM_SIDE : GRAD_DATA_NORM_X];
    apply.inputs[2] =
        fused->outputs[second ? GRAD_DATA_NORM_COEFFICIENTS2 : GRAD_DATA_NORM_COEFFICIENTS];
    apply.outputs[0] = grad->outputs[second ? NORM_GRAD_DSIDE : NORM_GRAD_DX];
    return apply;
}

/* Fuses the gradient that arrives in SLOT, if possible. */
static int fuse_slot(struct fuser *f, int number, int slot, bool *ret_done, struct error *err) {
    struct graph *graph = f->graph;
    struct op grad = graph->ops[number];
    int other = grad.inputs[slot == NORM_GRAD_DY ? NORM_GRAD_DY2 : NORM_GRAD_DY];
    const struct op *found = fuser_sole_producer(f, grad.inputs[slot], OP_CONV2D_GRAD_DATA);
    enum op_kind kind = fused_kind(grad.attr.form, other != TENSOR_NONE);
    if (found == NULL || kind == OP_KINDS)
        return 0;
    int data = graph->tensors[grad.inputs[slot]].producer;
    struct op fused = *found;
    fused.kind = kind;
    fused.inputs[GRAD_DATA_NORM_SHORTCUT] = other;
    take_norm_inputs(graph, &grad, &fused);
    if (make_outputs(graph, &grad, &fused, err) != 0)
        return -1;
    struct op first = apply_op(&grad, &fused, false), second = apply_op(&grad, &fused, true);
    if (!fuser_supports(f, &fused) || !fuser_supports(f, &first))
        return 0;
    graph->ops[data].kind = OP_KINDS;
    graph->ops[number] = fused;
    fuser_claim_outputs(graph, number);
    *ret_done = true;
    if (grad.attr.form == NORM_DUAL_ADD_RELU && graph_insert(graph, number + 1, &second, err) != 0)
        return -1;
    return graph_insert(graph, number + 1, &first, err);
}

int fuse_data_gradient(struct fuser *f, int number, struct error *err) {
    bool done = false;
    if (f->graph->ops[number].kind != OP_BATCH_NORM_GRAD)
        return 0;
    if (fuse_slot(f, number, NORM_GRAD_DY, &done, err) != 0)
        return -1;
    if (!done && f->graph->ops[number].inputs[NORM_GRAD_DY2] != TENSOR_NONE)
        return fuse_slot(f, number, NORM_GRAD_DY2, &done, err);
    return 0;
}
