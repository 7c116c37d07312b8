/* Backward half of FUSION_CONV for convolutions followed by a bias or a frozen norm, in two
 * passes:
 *
 *     frozen norm gradient -> both gradients of the convolution
 *         becomes   ReLU mask -> these, with the norm's scale
 *     data gradient (-> sum) -> ReLU mask (-> bias gradient)
 *         becomes   one operator
 *
 * A norm's scale is one number per channel: it is multiplied into the weights, which are packed
 * once a step, and into the weight gradient, so that no pass over the activations is left for
 * it. */
#include "trainer/graph/fuse/fuser.h"

enum { READERS_MAX = 2 };

/* Returns a gradient of the convolution before frozen norm gradient NORM that reads G, unscaled;
 * kind OP_KINDS if OP is not such a gradient. */
static struct op scaled_gradient(const struct op *op, const struct op *norm, int g) {
    struct op scaled = *op;
    bool weight = op->kind == OP_CONV2D_GRAD_WEIGHT;
    if (!weight && op->kind != OP_CONV2D_GRAD_DATA) {
        scaled.kind = OP_KINDS;
        return scaled;
    }
    scaled.kind = weight ? OP_CONV2D_GRAD_WEIGHT_AFFINE : OP_CONV2D_GRAD_DATA_AFFINE;
    scaled.inputs[0] = g;
    scaled.inputs[2] = norm->inputs[FROZEN_GRAD_GAMMA];
    scaled.inputs[3] = norm->inputs[FROZEN_GRAD_VARIANCE];
    scaled.attr.epsilon = norm->attr.epsilon;
    return scaled;
}

/* Finds the readers of tensor DX, each rewritten to read G instead; returns how many, or -1 if one
 * cannot be rewritten. */
static int find_scaled(const struct fuser *f, const struct op *norm, int dx, int g,
                       int numbers[READERS_MAX], struct op scaled[READERS_MAX]) {
    int count = 0;
    for (int i = 0; i < f->graph->op_count; i++) {
        const struct op *op = &f->graph->ops[i];
        for (int k = 0; k < OP_READS_MAX && op->kind != OP_KINDS; k++) {
            if (op_reads(op, k) != dx)
                continue;
            if (k != 0 || count == READERS_MAX)
                return -1;
            scaled[count] = scaled_gradient(op, norm, g);
            if (scaled[count].kind == OP_KINDS || !fuser_supports(f, &scaled[count]))
                return -1;
            numbers[count++] = i;
        }
    }
    return count;
}

/* Returns what is left of NORM without its scale: the mask, or nothing. */
static struct op mask_of(const struct op *norm, int g) {
    struct op mask = *norm;
    mask.kind = norm->inputs[FROZEN_GRAD_Y] == TENSOR_NONE ? OP_KINDS : OP_RELU_GRAD;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        mask.inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        mask.outputs[i] = TENSOR_NONE;
    mask.inputs[0] = norm->inputs[FROZEN_GRAD_DY];
    mask.inputs[1] = norm->inputs[FROZEN_GRAD_Y];
    mask.outputs[0] = g;
    mask.attr = (struct op_attr){0};
    return mask;
}

int fuse_frozen_gradient(struct fuser *f, int number, struct error *err) {
    (void)err;
    struct graph *graph = f->graph;
    const struct op norm = graph->ops[number];
    if (norm.kind != OP_FROZEN_NORM_GRAD || norm.inputs[FROZEN_GRAD_GAMMA2] != TENSOR_NONE)
        return 0;
    int dx = norm.outputs[FROZEN_GRAD_DX], dside = norm.outputs[FROZEN_GRAD_DSIDE];
    bool rectified = norm.inputs[FROZEN_GRAD_Y] != TENSOR_NONE;
    if (!rectified && dside != TENSOR_NONE)
        return 0;
    /* The side gets the masked gradient in any case. */
    int g = dside != TENSOR_NONE ? dside : rectified ? dx : norm.inputs[FROZEN_GRAD_DY];
    int numbers[READERS_MAX];
    struct op scaled[READERS_MAX], mask = mask_of(&norm, g);
    int count = find_scaled(f, &norm, dx, g, numbers, scaled);
    if (count < 1 || (rectified && !fuser_supports(f, &mask)))
        return 0;
    for (int i = 0; i < count; i++)
        graph->ops[numbers[i]] = scaled[i];
    graph->ops[number] = mask;
    fuser_count_readers(f);
    return 0;
}

/* Returns the data gradient without a mask that produces TENSOR, if TENSOR has exactly one reader;
 * else NULL. */
static struct op *only_data_gradient(const struct fuser *f, int tensor) {
    struct op *data = fuser_sole_producer(f, tensor, OP_CONV2D_GRAD_DATA);
    if (data == NULL)
        data = fuser_sole_producer(f, tensor, OP_CONV2D_GRAD_DATA_AFFINE);
    bool masked = data != NULL && data->kind == OP_CONV2D_GRAD_DATA_AFFINE &&
                  data->inputs[AFFINE_GRAD_Y] != TENSOR_NONE;
    return masked ? NULL : data;
}

static struct op *bias_gradient(const struct fuser *f, int g) {
    for (int i = 0; i < f->graph->op_count; i++)
        if (f->graph->ops[i].kind == OP_BIAS_GRAD && f->graph->ops[i].inputs[0] == g)
            return &f->graph->ops[i];
    return NULL;
}

/* Fuses DATA with the operators after it; SUM is the addition of OTHER between them, or NULL. */
static bool fuse_mask(struct fuser *f, struct op *mask, struct op *data, struct op *sum,
                      int other) {
    if (data == NULL)
        return false;
    struct op fused = *data, *bias = bias_gradient(f, mask->outputs[0]);
    if (data->kind == OP_CONV2D_GRAD_DATA)
        for (int i = AFFINE_GRAD_GAMMA; i < AFFINE_GRAD_INPUTS; i++)
            fused.inputs[i] = TENSOR_NONE;
    fused.kind = OP_CONV2D_GRAD_DATA_AFFINE;
    fused.rows = mask->rows;
    fused.inputs[AFFINE_GRAD_Y] = mask->inputs[1];
    fused.inputs[AFFINE_GRAD_SHORTCUT] = other;
    fused.outputs[AFFINE_GRAD_G] = mask->outputs[0];
    fused.attr.side = bias != NULL;
    fused.outputs[AFFINE_GRAD_DBIAS] = bias != NULL ? bias->outputs[0] : TENSOR_NONE;
    return fuser_replace(f, mask, &fused, data, sum, bias);
}

int fuse_relu_gradient(struct fuser *f, int number, struct error *err) {
    (void)err;
    struct op *mask = &f->graph->ops[number];
    if (mask->kind != OP_RELU_GRAD)
        return 0;
    if (fuse_mask(f, mask, only_data_gradient(f, mask->inputs[0]), NULL, TENSOR_NONE))
        return 0;
    struct op *sum = fuser_sole_producer(f, mask->inputs[0], OP_ADD);
    if (sum != NULL &&
        !fuse_mask(f, mask, only_data_gradient(f, sum->inputs[1]), sum, sum->inputs[0]))
        (void)fuse_mask(f, mask, only_data_gradient(f, sum->inputs[0]), sum, sum->inputs[1]);
    return 0;
}
