#include "graph/fuser.h"

/* Who reads a tensor: its data gradient into a norm and its weight gradient behind that norm, and
 * nobody else. */
struct readers {
    int data, weight;
};

static bool find_readers(const struct graph *graph, int tensor, struct readers *ret) {
    *ret = (struct readers){-1, -1};
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        for (int k = 0; k < OP_READS_MAX && op->kind != OP_KINDS; k++) {
            if (op_reads(op, k) != tensor)
                continue;
            if (op->kind == OP_CONV2D_GRAD_DATA_NORM && k == GRAD_DATA_NORM_DY && ret->data < 0)
                ret->data = i;
            else if (op->kind == OP_NORM_CONV2D_GRAD_WEIGHT && k == 0 && ret->weight < 0)
                ret->weight = i;
            else
                return false;
        }
    }
    return ret->data >= 0 && ret->weight >= 0 && graph->tensors[tensor].role == TENSOR_ACTIVATION;
}

static struct op backward_op(const struct op *apply, const struct op *data,
                             const struct op *weight) {
    struct op fused = *data;
    fused.kind = OP_CONV2D_BACKWARD_NORM;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        fused.inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        fused.outputs[i] = TENSOR_NONE;
    for (int i = 0; i < 3; i++)
        fused.inputs[CONV_BACKWARD_G + i] = apply->inputs[i];
    fused.inputs[CONV_BACKWARD_W] = data->inputs[GRAD_DATA_NORM_W];
    for (int i = 0; i < 3; i++)
        fused.inputs[CONV_BACKWARD_X + i] = weight->inputs[1 + i];
    for (int i = 0; i < 4; i++)
        fused.inputs[CONV_BACKWARD_GAMMA + i] = data->inputs[GRAD_DATA_NORM_GAMMA + i];
    for (int i = 0; i < 4; i++)
        fused.outputs[CONV_BACKWARD_DX + i] = data->outputs[GRAD_DATA_NORM_G + i];
    fused.outputs[CONV_BACKWARD_DW] = weight->outputs[0];
    return fused;
}

static bool is_pointwise(const struct op_window *window) {
    return window->kernel == 1 && window->stride == 1 && window->pad == 0;
}

int fuse_conv_backward(struct fuser *f, int number, struct error *err) {
    (void)err;
    struct graph *graph = f->graph;
    struct op *apply = &graph->ops[number];
    struct readers readers;
    if (apply->kind != OP_NORM_GRAD_APPLY || !find_readers(graph, apply->outputs[0], &readers))
        return 0;
    struct op *data = &graph->ops[readers.data], *weight = &graph->ops[readers.weight];
    if (!is_pointwise(&data->attr.window) || data->inputs[GRAD_DATA_NORM_X] != weight->inputs[1] ||
        apply->rows != TENSOR_NONE)
        return 0;
    struct op fused = backward_op(apply, data, weight);
    if (!fuser_supports(f, &fused))
        return 0;
    /* Where the first of the two stood: what both need besides is the forward pass's. */
    int at = readers.data < readers.weight ? readers.data : readers.weight;
    apply->kind = data->kind = weight->kind = OP_KINDS;
    graph->ops[at] = fused;
    fuser_claim_outputs(graph, at);
    return 0;
}
