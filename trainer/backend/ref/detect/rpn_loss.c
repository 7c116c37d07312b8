/* Losses of a region proposal network and their gradient. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/match.h"
#include "trainer/math/relu.h"

/* The logits and deltas of all anchors exist, one map per level, but only sampled anchors have a
 * loss; INDEX lists them by their number over all levels. The first two bodies are the losses and
 * their dense gradient on one level. The third continues through the network's head, from the
 * gradients of single anchors, without maps of gradients between.
 *
 * Outputs are zero when a body begins (ref.c). */

/* Returns the divisor that turns the losses' sums into means; the slots are in input SLOT and after
 * it. It is never 0, so a batch without samples has losses of 0. */
static double divisor(const struct ref_call *call, int slot) {
    double found = 0;
    int64_t count = shape_count(&call->in_shape[slot]);
    for (int64_t i = 0; i < count; i++)
        found += call->in[slot][i] >= 0;
    if ((call->op.attr.detect.flags & DETECT_RPN_FIXED_COUNT) != 0)
        return (double)count;
    return found > 0 ? found : 1;
}

/* Binary cross-entropy of every sample, smooth L1 of the four deltas of objects alone. Both are
 * divided by the number of samples, not each by its own. */
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

/* For one level, given by the attribute: samples of other levels are skipped. Anchors that were not
 * sampled keep 0. */
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

/* --- gradient of the head ----------------------------------------------------------------------
 */

enum { HEAD_WIDTH = ANCHOR_SHAPES + 4 * ANCHOR_SHAPES }; /* outputs of the head per pixel */

/* One sampled anchor. */
struct head_sample {
    int64_t picture, y, x, pixel; /* pixel: of the whole batch */
    double gradient[HEAD_WIDTH];  /* of the logits, then the deltas, of its pixel */
};

/* Finds sample I's pixel, and the gradients of its logit and deltas, in the place of its anchor
 * shape among the head's outputs. */
static void grade_sample(const struct ref_call *call, const struct anchor_level *level, int64_t i,
                         double scale, struct head_sample *ret) {
    const double beta = (double)call->op.attr.detect.beta, *in[RPN_HEAD_GRAD_INPUTS];
    for (int slot = 0; slot < RPN_HEAD_GRAD_INPUTS; slot++)
        in[slot] = call->in[slot];
    int own = (int)in[RPN_HEAD_GRAD_INDEX][i] - level->first, shape = own % ANCHOR_SHAPES;
    *ret = (struct head_sample){.picture = i / call->in_shape[RPN_HEAD_GRAD_INDEX].dim[1],
                                .y = own / ANCHOR_SHAPES / level->width,
                                .x = own / ANCHOR_SHAPES % level->width};
    ret->pixel = (ret->picture * level->height + ret->y) * level->width + ret->x;
    int64_t row = ret->pixel * ANCHOR_SHAPES + shape;
    double label = in[RPN_HEAD_GRAD_LABEL][i];
    ret->gradient[shape] = scale * logit_loss_gradient(in[RPN_HEAD_GRAD_LOGITS][row], label);
    for (int k = 0; k < 4 && label == MATCH_OBJECT; k++)
        ret->gradient[ANCHOR_SHAPES + shape * 4 + k] =
            scale *
            smooth_l1_gradient(
                in[RPN_HEAD_GRAD_DELTAS][row * 4 + k] - in[RPN_HEAD_GRAD_TARGET][i * 4 + k], beta);
}

/* Through the predictors to channel O of t, which is masked. Adds to the gradients of the
 * predictors' weights on the way. */
static double predictors_gradient(const struct ref_call *call, const struct head_sample *s,
                                  int64_t o, int64_t outputs) {
    double t = call->in[RPN_HEAD_GRAD_T][s->pixel * outputs + o], sum = 0;
    for (int k = 0; k < HEAD_WIDTH; k++) {
        bool cls = k < ANCHOR_SHAPES;
        int64_t at = (cls ? k : k - ANCHOR_SHAPES) * outputs + o;
        sum += s->gradient[k] * call->in[cls ? RPN_HEAD_GRAD_W_CLS : RPN_HEAD_GRAD_W_BOX][at];
        call->out[cls ? RPN_HEAD_GRAD_DW_CLS : RPN_HEAD_GRAD_DW_BOX][at] += s->gradient[k] * t;
    }
    return relu_passes(t) ? sum : 0;
}

/* Through the convolution, from DT at channel O of t. Taps outside the map read the padding's
 * zeros, which have no gradient. */
static void conv_gradient(const struct ref_call *call, const struct head_sample *s, int64_t o,
                          double dt) {
    const struct shape *x = &call->in_shape[RPN_HEAD_GRAD_X];
    for (int tap = 0; tap < 9; tap++) {
        int64_t row = s->y + tap / 3 - 1, column = s->x + tap % 3 - 1;
        if (row < 0 || row >= x->dim[1] || column < 0 || column >= x->dim[2])
            continue;
        int64_t from = ((s->picture * x->dim[1] + row) * x->dim[2] + column) * x->dim[3];
        for (int64_t i = 0; i < x->dim[3]; i++) {
            int64_t weight = (o * 9 + tap) * x->dim[3] + i;
            call->out[RPN_HEAD_GRAD_DW_CONV][weight] += dt * call->in[RPN_HEAD_GRAD_X][from + i];
            call->out[RPN_HEAD_GRAD_DX][from + i] += dt * call->in[RPN_HEAD_GRAD_W_CONV][weight];
        }
    }
}

/* Sample by sample, even if several belong to one pixel: everything is linear in the gradients, so
 * the sums are the same as for all at once. */
int ref_rpn_head_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct detect_attr *attr = &call->op.attr.detect;
    const struct anchor_grid grid = detect_grid(attr);
    const double scale = call->op.attr.gradient_scale / divisor(call, RPN_HEAD_GRAD_INDEX);
    int64_t outputs = call->in_shape[RPN_HEAD_GRAD_T].dim[3];
    for (int64_t i = 0; i < shape_count(&call->in_shape[RPN_HEAD_GRAD_INDEX]); i++) {
        int anchor = (int)call->in[RPN_HEAD_GRAD_INDEX][i];
        struct head_sample s;
        if (anchor < 0 || anchor_level_of(&grid, anchor) != attr->level)
            continue;
        grade_sample(call, &grid.level[attr->level], i, scale, &s);
        for (int k = 0; k < HEAD_WIDTH; k++)
            call->out[k < ANCHOR_SHAPES ? RPN_HEAD_GRAD_DB_CLS : RPN_HEAD_GRAD_DB_BOX]
                     [k < ANCHOR_SHAPES ? k : k - ANCHOR_SHAPES] += s.gradient[k];
        for (int64_t o = 0; o < outputs; o++) {
            double dt = predictors_gradient(call, &s, o, outputs);
            call->out[RPN_HEAD_GRAD_DB_CONV][o] += dt;
            conv_gradient(call, &s, o, dt);
        }
    }
    return 0;
}
