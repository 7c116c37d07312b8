#include "trainer/graph/fuse/fuser.h"

/* Returns CONV as an operator with slots, still empty, for the bias or norm after it. */
static struct op affine_of(const struct op *conv) {
    struct op fused = *conv;
    fused.kind = OP_CONV2D_AFFINE;
    return fused;
}

static void take_norm(struct op *fused, const struct op *norm, int first) {
    for (int i = NORM_GAMMA; i <= NORM_VARIANCE; i++)
        fused->inputs[AFFINE_GAMMA + i - NORM_GAMMA] = norm->inputs[first + i];
    fused->attr.epsilon = norm->attr.epsilon;
}

static void fuse_bias(struct fuser *f, struct op *bias) {
    struct op *conv = fuser_sole_producer(f, bias->inputs[0], OP_CONV2D);
    if (conv == NULL)
        return;
    struct op fused = affine_of(conv);
    fused.attr.relu = bias->attr.relu;
    fused.inputs[AFFINE_BIAS] = bias->inputs[1];
    fused.outputs[0] = bias->outputs[0];
    (void)fuser_replace(f, bias, &fused, conv, NULL, NULL);
}

static void fuse_norm(struct fuser *f, struct op *norm) {
    struct op *conv = fuser_sole_producer(f, norm->inputs[NORM_X], OP_CONV2D);
    if (conv == NULL)
        return;
    struct op fused = affine_of(conv);
    take_norm(&fused, norm, NORM_X);
    fused.attr.relu = norm->attr.form != NORM_PLAIN;
    fused.inputs[AFFINE_SIDE] = norm->inputs[NORM_SIDE];
    fused.outputs[0] = norm->outputs[NORM_Y];
    (void)fuser_replace(f, norm, &fused, conv, NULL, NULL);
}

/* The second norm is fused with its own convolution; the first one then adds the result. */
static void fuse_dual(struct fuser *f, struct op *norm) {
    struct op *side = fuser_sole_producer(f, norm->inputs[NORM_SIDE], OP_CONV2D);
    struct op *conv = fuser_sole_producer(f, norm->inputs[NORM_X], OP_CONV2D);
    if (side == NULL || conv == NULL)
        return;
    struct op first = affine_of(conv), second = affine_of(side);
    take_norm(&second, norm, NORM_SIDE);
    take_norm(&first, norm, NORM_X);
    first.attr.relu = true;
    first.inputs[AFFINE_SIDE] = norm->inputs[NORM_SIDE];
    first.outputs[0] = norm->outputs[NORM_Y];
    if (fuser_supports(f, &second) && fuser_replace(f, norm, &first, conv, NULL, NULL))
        *side = second;
}

void fuse_affine(struct fuser *f, struct op *op) {
    if (op->kind == OP_BIAS)
        fuse_bias(f, op);
    else if (op->kind == OP_BATCH_NORM_INFERENCE && op->attr.form == NORM_DUAL_ADD_RELU)
        fuse_dual(f, op);
    else if (op->kind == OP_BATCH_NORM_INFERENCE)
        fuse_norm(f, op);
}
