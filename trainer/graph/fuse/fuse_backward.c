#include "trainer/graph/fuse/fuser.h"

/* The readers of a tensor: exactly a data gradient and a weight gradient of one convolution. */
struct readers {
    int data, weight;
};

static bool is_data_gradient(const struct op *op, int slot) {
    switch (op->kind) {
    case OP_CONV2D_GRAD_DATA:
    case OP_CONV2D_GRAD_DATA_NORM:
    case OP_CONV2D_GRAD_DATA_ADD_JOIN:
        return slot == GRAD_DATA_NORM_DY;
    default:
        return false;
    }
}

static bool is_weight_gradient(const struct op *op, int slot) {
    return slot == 0 &&
           (op->kind == OP_CONV2D_GRAD_WEIGHT || op->kind == OP_NORM_CONV2D_GRAD_WEIGHT);
}

static bool find_readers(const struct graph *graph, int tensor, struct readers *ret) {
    *ret = (struct readers){-1, -1};
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        for (int k = 0; k < OP_READS_MAX && op->kind != OP_KINDS; k++) {
            if (op_reads(op, k) != tensor)
                continue;
            if (is_data_gradient(op, k) && ret->data < 0)
                ret->data = i;
            else if (is_weight_gradient(op, k) && ret->weight < 0)
                ret->weight = i;
            else
                return false;
        }
    }
    return ret->data >= 0 && ret->weight >= 0 && graph->tensors[tensor].role == TENSOR_ACTIVATION;
}

/* Returns true if DATA applies the mask of the join Y. */
static bool is_join_of(const struct graph *graph, int y, const struct op *data) {
    int producer = graph->tensors[y].producer;
    const struct op *join = producer < 0 ? NULL : &graph->ops[producer];
    if (join == NULL || (join->kind != OP_JOIN_CONV2D_STATS && join->kind != OP_JOIN_APPLY_RELU))
        return false;
    int made = join->outputs[join->kind == OP_JOIN_CONV2D_STATS ? FUSED_CONV_JOIN : FUSED_CONV_Y];
    return made == y && join->inputs[FUSED_CONV_X] == data->inputs[GRAD_DATA_NORM_X] &&
           join->inputs[FUSED_CONV_SIDE] == data->inputs[GRAD_DATA_NORM_SIDE];
}

/* Returns the fused kind of both gradients; OP_KINDS: none. */
static enum op_kind kind_of(const struct graph *graph, const struct op *data,
                            const struct op *weight) {
    if (weight->kind == OP_NORM_CONV2D_GRAD_WEIGHT)
        return data->kind == OP_CONV2D_GRAD_DATA_NORM &&
                       data->inputs[GRAD_DATA_NORM_X] == weight->inputs[1]
                   ? OP_CONV2D_BACKWARD_NORM
                   : OP_KINDS;
    if (data->kind == OP_CONV2D_GRAD_DATA)
        return OP_CONV2D_BACKWARD;
    return data->kind == OP_CONV2D_GRAD_DATA_ADD_JOIN && is_join_of(graph, weight->inputs[1], data)
               ? OP_CONV2D_BACKWARD_JOIN
               : OP_KINDS;
}

/* Adds the preceding norm and the outputs of its gradient. */
static void take_norm(struct op *fused, const struct op *data) {
    fused->inputs[CONV_BACKWARD_X] = data->inputs[GRAD_DATA_NORM_X];
    for (int i = 0; i < 4; i++)
        fused->inputs[CONV_BACKWARD_GAMMA + i] = data->inputs[GRAD_DATA_NORM_GAMMA + i];
    for (int i = 1; i < 4; i++)
        fused->outputs[CONV_BACKWARD_DX + i] = data->outputs[GRAD_DATA_NORM_G + i];
    if (fused->kind == OP_CONV2D_BACKWARD_NORM)
        return;
    fused->inputs[CONV_BACKWARD_BETA] = TENSOR_NONE;
    fused->inputs[CONV_BACKWARD_SHORTCUT] = data->inputs[GRAD_DATA_NORM_SHORTCUT];
}

static struct op backward_op(enum op_kind kind, const struct op *apply, const struct op *data,
                             const struct op *weight) {
    struct op fused = *data;
    fused.kind = kind;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        fused.inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        fused.outputs[i] = TENSOR_NONE;
    for (int i = 0; i < 3; i++)
        fused.inputs[CONV_BACKWARD_G + i] = apply->inputs[i];
    fused.inputs[CONV_BACKWARD_W] = data->inputs[GRAD_DATA_NORM_W];
    fused.outputs[CONV_BACKWARD_DX] = data->outputs[GRAD_DATA_NORM_G];
    fused.outputs[CONV_BACKWARD_DW] = weight->outputs[0];
    if (kind != OP_CONV2D_BACKWARD)
        take_norm(&fused, data);
    if (kind != OP_CONV2D_BACKWARD_NORM) {
        fused.inputs[CONV_BACKWARD_Y] = weight->inputs[1];
        return fused;
    }
    fused.inputs[CONV_BACKWARD_SCALE] = weight->inputs[2];
    fused.inputs[CONV_BACKWARD_BIAS] = weight->inputs[3];
    return fused;
}

static bool is_pointwise(const struct op_window *window) {
    return window->kernel == 1 && window->stride == 1 && window->pad == 0 &&
           op_window_is_plain(window);
}

int fuse_conv_backward(struct fuser *f, int number, struct error *err) {
    (void)err;
    struct graph *graph = f->graph;
    struct op *apply = &graph->ops[number];
    struct readers readers;
    if (apply->kind != OP_NORM_GRAD_APPLY || !find_readers(graph, apply->outputs[0], &readers))
        return 0;
    struct op *data = &graph->ops[readers.data], *weight = &graph->ops[readers.weight];
    enum op_kind kind = kind_of(graph, data, weight);
    if (!is_pointwise(&data->attr.window) || kind == OP_KINDS || apply->rows != TENSOR_NONE)
        return 0;
    struct op fused = backward_op(kind, apply, data, weight);
    if (!fuser_supports(f, &fused))
        return 0;
    /* Placed at the data gradient, because a shortcut's gradient was made before it. Nothing in a
     * step reads the weight gradient. */
    apply->kind = data->kind = weight->kind = OP_KINDS;
    graph->ops[readers.data] = fused;
    fuser_claim_outputs(graph, readers.data);
    return 0;
}
