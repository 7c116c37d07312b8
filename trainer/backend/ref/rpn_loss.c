/* What a region proposal network's answers cost, and the gradient of that. */
#include "graph/detect_grid.h"
#include "kernels/detect_loss.h"
#include "kernels/match.h"
#include "ref/body.h"

/* Over how much the sums of the losses are means; the slots lie in input SLOT and behind it. */
static double divisor(const struct ref_call *call, int slot) {
    double found = 0;
    int64_t count = shape_count(&call->in_shape[slot]);
    for (int64_t i = 0; i < count; i++)
        found += call->in[slot][i] >= 0;
    if ((call->op.attr.detect.flags & DETECT_RPN_FIXED_COUNT) != 0)
        return (double)count;
    return found > 0 ? found : 1;
}

int ref_rpn_loss(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct anchor_grid grid = detect_grid(&call->op.attr.detect);
    const double beta = (double)call->op.attr.detect.beta, all = divisor(call, RPN_LOSS_INDEX);
    double *losses = call->out[RPN_LOSS_VALUES];
    int64_t samples = call->in_shape[RPN_LOSS_INDEX].dim[1];
    for (int64_t i = 0; i < shape_count(&call->in_shape[RPN_LOSS_INDEX]); i++) {
        int anchor = (int)call->in[RPN_LOSS_INDEX][i];
        if (anchor < 0)
            continue;
        int level = anchor_level_of(&grid, anchor);
        int64_t row =
            i / samples * anchor_level_count(&grid.level[level]) + anchor - grid.level[level].first;
        double label = call->in[RPN_LOSS_LABEL][i];
        losses[RPN_LOSS_SAMPLED]++;
        losses[RPN_LOSS_OBJECTNESS] +=
            logit_loss(call->in[RPN_LOSS_LOGITS + level][row], label) / all;
        if (label != MATCH_OBJECT)
            continue;
        losses[RPN_LOSS_POSITIVES]++;
        for (int k = 0; k < 4; k++)
            losses[RPN_LOSS_BOX] += smooth_l1(call->in[RPN_LOSS_DELTAS + level][row * 4 + k] -
                                                  call->in[RPN_LOSS_TARGET][i * 4 + k],
                                              beta) /
                                    all;
    }
    return 0;
}

int ref_rpn_loss_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct detect_attr *attr = &call->op.attr.detect;
    const struct anchor_grid grid = detect_grid(attr);
    const struct anchor_level *level = &grid.level[attr->level];
    const double beta = (double)attr->beta;
    const double scale = call->op.attr.gradient_scale / divisor(call, RPN_LOSS_GRAD_INDEX);
    int64_t samples = call->in_shape[RPN_LOSS_GRAD_INDEX].dim[1];
    for (int64_t i = 0; i < shape_count(&call->in_shape[RPN_LOSS_GRAD_INDEX]); i++) {
        int anchor = (int)call->in[RPN_LOSS_GRAD_INDEX][i];
        if (anchor < 0 || anchor_level_of(&grid, anchor) != attr->level)
            continue;
        int64_t row = i / samples * anchor_level_count(level) + anchor - level->first;
        double label = call->in[RPN_LOSS_GRAD_LABEL][i];
        call->out[RPN_LOSS_GRAD_DLOGITS][row] =
            scale * logit_loss_gradient(call->in[RPN_LOSS_GRAD_LOGITS][row], label);
        for (int k = 0; k < 4 && label == MATCH_OBJECT; k++)
            call->out[RPN_LOSS_GRAD_DDELTAS][row * 4 + k] =
                scale * smooth_l1_gradient(call->in[RPN_LOSS_GRAD_DELTAS][row * 4 + k] -
                                               call->in[RPN_LOSS_GRAD_TARGET][i * 4 + k],
                                           beta);
    }
    return 0;
}
