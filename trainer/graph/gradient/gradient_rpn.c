/* Gradient rules of a region proposal network's losses: one operator per level, so that backward
 * can proceed level by level and free each level's memory. */
#include "trainer/graph/gradient/gradient_rules.h"
#include "trainer/graph/gradient/gradients.h"
#include "trainer/graph/op_rpn.h"

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
