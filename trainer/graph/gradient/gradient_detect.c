/* Gradient rules of the detectors' operators: proposals, regions and masks. Boxes get no
 * gradient. */
#include "trainer/graph/gradient/gradient_rules.h"
#include "trainer/graph/gradient/gradients.h"
#include "trainer/graph/op_roi.h"
#include "trainer/graph/op_rpn.h"

/* Adds one operator for each level, so that backward can proceed level by level and free each
 * level's memory. */
int gradient_rpn_loss(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    for (int level = op.attr.detect.levels - 1; level >= 0; level--) {
        int logits = op.inputs[RPN_LOSS_LOGITS + level];
        int deltas = op.inputs[RPN_LOSS_DELTAS + level];
        struct op_attr attr = op.attr;
        attr.detect.level = level;
        int inputs[] = {logits, deltas, op.inputs[RPN_LOSS_INDEX], op.inputs[RPN_LOSS_LABEL],
                        op.inputs[RPN_LOSS_TARGET]};
        int added = gradients_append(graph, OP_RPN_LOSS_GRAD, &op, inputs, &attr, err);
        if (added < 0)
            return -1;
        int dlogits = graph->ops[added].outputs[RPN_LOSS_GRAD_DLOGITS];
        int ddeltas = graph->ops[added].outputs[RPN_LOSS_GRAD_DDELTAS];
        if (gradients_send(graph, logits, dlogits, err) != 0 ||
            gradients_send(graph, deltas, ddeltas, err) != 0)
            return -1;
    }
    return 0;
}

int gradient_roi_align(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int inputs[ROI_ALIGN_GRAD_INPUTS] = {[ROI_ALIGN_GRAD_DY] =
                                             gradients_of(graph, op.outputs[ROI_ALIGN_Y]),
                                         [ROI_ALIGN_GRAD_ROI] = op.inputs[ROI_ALIGN_ROI],
                                         [ROI_ALIGN_GRAD_LABEL] = op.inputs[ROI_ALIGN_LABEL],
                                         [ROI_ALIGN_GRAD_ROW] = op.inputs[ROI_ALIGN_ROW]};
    /* A map has several readers: gradients from the others are added in the same operator. */
    for (int l = 0; l < ROI_LEVELS_MAX; l++)
        inputs[ROI_ALIGN_GRAD_BEFORE + l] = gradients_of(graph, op.inputs[ROI_ALIGN_MAP + l]);
    int added = gradients_append(graph, OP_ROI_ALIGN_GRAD, &op, inputs, &op.attr, err);
    if (added < 0)
        return -1;
    for (int l = 0; l < op.attr.detect.levels; l++)
        gradients_take(graph, op.inputs[ROI_ALIGN_MAP + l],
                       graph->ops[added].outputs[ROI_ALIGN_GRAD_DMAP + l]);
    return 0;
}

int gradient_box_loss(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int added = gradients_append(graph, OP_BOX_LOSS_GRAD, &op, op.inputs, &op.attr, err);
    if (added < 0)
        return -1;
    int dlogits = graph->ops[added].outputs[BOX_LOSS_GRAD_DLOGITS];
    int ddeltas = graph->ops[added].outputs[BOX_LOSS_GRAD_DDELTAS];
    if (gradients_send(graph, op.inputs[BOX_LOSS_LOGITS], dlogits, err) != 0)
        return -1;
    return gradients_send(graph, op.inputs[BOX_LOSS_DELTAS], ddeltas, err);
}

int gradient_class_conv(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int x = op.inputs[CLASS_CONV_X], w = op.inputs[CLASS_CONV_W];
    int dy = gradients_of(graph, op.outputs[CLASS_CONV_Y]), label = op.inputs[CLASS_CONV_LABEL];
    struct op_attr attr = op.attr;
    attr.target = graph->tensors[w].shape;
    int added =
        gradients_append(graph, OP_CLASS_CONV_GRAD_WEIGHT, &op, (int[]){dy, x, label}, &attr, err);
    if (added < 0)
        return -1;
    int dw = graph->ops[added].outputs[CLASS_CONV_GRAD_WEIGHT_DW];
    int db = graph->ops[added].outputs[CLASS_CONV_GRAD_WEIGHT_DB];
    if (gradients_send(graph, w, dw, err) != 0 ||
        gradients_send(graph, op.inputs[CLASS_CONV_B], db, err) != 0)
        return -1;
    if (!gradients_wanted(graph, x))
        return 0;
    attr.target = graph->tensors[x].shape;
    return gradients_append_to(graph, OP_CLASS_CONV_GRAD_DATA, &op, (int[]){dy, w, label}, &attr, x,
                               err);
}

int gradient_mask_loss(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    return gradients_append_to(graph, OP_MASK_LOSS_GRAD, &op, op.inputs, &op.attr,
                               op.inputs[MASK_LOSS_LOGITS], err);
}
