#include "trainer/graph/build/build_rpn.h"

#include "trainer/graph/build/build.h"
#include "trainer/graph/build/builder.h"

/* Returns output SLOT of the operator that has TENSOR as output 0. */
static int beside(const struct graph *graph, int tensor, int slot) {
    if (graph->failed || tensor == TENSOR_NONE)
        return TENSOR_NONE;
    return graph->ops[graph->tensors[tensor].producer].outputs[slot];
}

static void no_inputs(int inputs[OP_INPUTS_MAX]) {
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
}

static void put_levels(int inputs[OP_INPUTS_MAX], int slot, const int *tensors,
                       const struct detect_attr *attr) {
    for (int i = 0; i < attr->levels && i < DETECT_LEVELS_MAX; i++)
        inputs[slot + i] = tensors[i];
}

struct rpn_proposals graph_proposals(struct graph *graph, const char *name, const int *logits,
                                     const int *deltas, int image_size,
                                     const struct detect_attr *attr) {
    const struct op_attr own = {.detect = *attr};
    struct rpn_proposals ret;
    int inputs[OP_INPUTS_MAX];
    no_inputs(inputs);
    put_levels(inputs, RPN_TOP_K_LOGITS, logits, attr);
    int score = builder_op(graph, OP_RPN_TOP_K, name, inputs, &own);
    ret.nan = beside(graph, score, RPN_TOP_K_NAN);
    no_inputs(inputs);
    put_levels(inputs, RPN_BOXES_DELTAS, deltas, attr);
    inputs[RPN_BOXES_SCORE] = score;
    inputs[RPN_BOXES_INDEX] = beside(graph, score, RPN_TOP_K_INDEX);
    inputs[RPN_BOXES_IMAGE_SIZE] = image_size;
    int box = builder_op(graph, OP_RPN_BOXES, name, inputs, &own);
    int ranked_by = beside(graph, box, RPN_BOXES_RANKED_BY);
    int keep = builder_op(graph, OP_NMS, name, (int[]){box, ranked_by}, &own);
    ret.box = builder_op(graph, OP_PROPOSALS, name, (int[]){box, ranked_by, keep}, &own);
    ret.score = beside(graph, ret.box, PROPOSALS_SCORE);
    ret.count = beside(graph, ret.box, PROPOSALS_COUNT);
    return ret;
}

struct rpn_samples graph_rpn_targets(struct graph *graph, const char *name, int gt_box,
                                     int gt_count, int image_size, int key,
                                     const struct detect_attr *attr) {
    const struct op_attr own = {.detect = *attr};
    struct rpn_samples ret;
    ret.index =
        builder_op(graph, OP_RPN_TARGETS, name, (int[]){gt_box, gt_count, image_size, key}, &own);
    ret.label = beside(graph, ret.index, RPN_TARGETS_LABEL);
    ret.target = beside(graph, ret.index, RPN_TARGETS_TARGET);
    ret.count = beside(graph, ret.index, RPN_TARGETS_COUNT);
    return ret;
}

int graph_rpn_loss(struct graph *graph, const char *name, const int *logits, const int *deltas,
                   const struct rpn_samples *samples, const struct detect_attr *attr) {
    const struct op_attr own = {.gradient_scale = 1, .detect = *attr};
    int inputs[OP_INPUTS_MAX];
    no_inputs(inputs);
    put_levels(inputs, RPN_LOSS_LOGITS, logits, attr);
    put_levels(inputs, RPN_LOSS_DELTAS, deltas, attr);
    inputs[RPN_LOSS_INDEX] = samples->index;
    inputs[RPN_LOSS_LABEL] = samples->label;
    inputs[RPN_LOSS_TARGET] = samples->target;
    int loss = builder_op(graph, OP_RPN_LOSS, name, inputs, &own);
    graph_loss(graph, loss);
    return loss;
}
