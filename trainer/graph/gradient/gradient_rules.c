/* Gradient rules of the operator table. A rule appends the operators that compute the gradients of
 * its operator's inputs, and sends each to its input (gradients.h). backward.c calls the rules from
 * the last operator to the first, so all gradients of the outputs are complete when a rule is
 * called.
 *
 * Each rule copies its operator first: appending may move graph->ops. Gradients that no parameter
 * needs are not computed where an operator of its own would compute them; an operator with several
 * outputs computes all.
 *
 * The weight gradient comes before the data gradient: its bucket is ready one operator earlier, and
 * the forward activation is freed before its gradient is allocated. */
#include "trainer/graph/gradient/gradient_rules.h"
#include "trainer/graph/gradient/gradients.h"

/* Sends the gradients of OP's convolution to its input and weights; DY is the gradient of the
 * convolution's result. attr.target is the shape of what is computed, as neither input determines
 * it. The first layer's input, a picture, wants no gradient. */
static int send_conv2d(struct graph *graph, const struct op *op, int dy, struct error *err) {
    int x = op->inputs[0], w = op->inputs[1];
    struct op_attr attr = {.window = op->attr.window, .target = graph->tensors[w].shape};
    if (gradients_wanted(graph, w) &&
        gradients_append_to(graph, OP_CONV2D_GRAD_WEIGHT, op, (int[]){dy, x}, &attr, w, err) != 0)
        return -1;
    attr.target = graph->tensors[x].shape;
    if (!gradients_wanted(graph, x))
        return 0;
    return gradients_append_to(graph, OP_CONV2D_GRAD_DATA, op, (int[]){dy, w}, &attr, x, err);
}

/* A rule returns 0, or -1 with the error of the appended operator's shape rule, which means a fault
 * of the rule. A graph with an error is not used any more. */
int gradient_conv2d(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    return send_conv2d(graph, &op, gradients_of(graph, op.outputs[0]), err);
}

/* The operator is the data gradient of a convolution, used forward. Its own gradients are therefore
 * that convolution, of dy, and that convolution's weight gradient with the roles exchanged. */
int gradient_conv_transpose2d(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int x = op.inputs[0], w = op.inputs[1], dy = gradients_of(graph, op.outputs[0]);
    struct op_attr attr = op.attr;
    attr.target = graph->tensors[w].shape;
    if (gradients_wanted(graph, w) &&
        gradients_append_to(graph, OP_CONV2D_GRAD_WEIGHT, &op, (int[]){x, dy}, &attr, w, err) != 0)
        return -1;
    if (!gradients_wanted(graph, x))
        return 0;
    return gradients_append_to(graph, OP_CONV2D, &op, (int[]){dy, w}, &attr, x, err);
}

/* Sets *RET_DY to the gradient of OP's output before the ReLU, if attr.relu has one: an operator
 * that masks it by the output, which is above 0 exactly where the ReLU let values through. */
static int before_relu(struct graph *graph, const struct op *op, int *ret_dy, struct error *err) {
    *ret_dy = gradients_of(graph, op->outputs[0]);
    if (!op->attr.relu)
        return 0;
    int added = gradients_append(graph, OP_RELU_GRAD, op, (int[]){*ret_dy, op->outputs[0]},
                                 &(struct op_attr){0}, err);
    if (added < 0)
        return -1;
    *ret_dy = graph->ops[added].outputs[0];
    return 0;
}

/* The gradient of x is dy itself, without an operator; that of the bias sums dy over all pixels. A
 * frozen bias is a constant and wants none. */
int gradient_bias(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int dy;
    if (before_relu(graph, &op, &dy, err) != 0)
        return -1;
    if (gradients_wanted(graph, op.inputs[1]) &&
        gradients_append_to(graph, OP_BIAS_GRAD, &op, (int[]){dy}, &op.attr, op.inputs[1], err) !=
            0)
        return -1;
    return gradients_send(graph, op.inputs[0], dy, err);
}

/* Sets *RET_DY to the gradient before the frozen norm of OP; the side input gets its own. The
 * norm's own values are constants, so one operator scales, masks, and copies for the side. */
static int before_frozen_norm(struct graph *graph, const struct op *op, int *ret_dy,
                              struct error *err) {
    int side = op->inputs[AFFINE_SIDE];
    int inputs[FROZEN_GRAD_INPUTS] = {
        [FROZEN_GRAD_DY] = gradients_of(graph, op->outputs[0]),
        [FROZEN_GRAD_Y] = op->attr.relu ? op->outputs[0] : TENSOR_NONE,
        [FROZEN_GRAD_GAMMA] = op->inputs[AFFINE_GAMMA],
        [FROZEN_GRAD_VARIANCE] = op->inputs[AFFINE_VARIANCE],
        [FROZEN_GRAD_GAMMA2] = TENSOR_NONE,
        [FROZEN_GRAD_VARIANCE2] = TENSOR_NONE,
    };
    struct op_attr attr = {.epsilon = op->attr.epsilon, .side = gradients_wanted(graph, side)};
    int added = gradients_append(graph, OP_FROZEN_NORM_GRAD, op, inputs, &attr, err);
    if (added < 0)
        return -1;
    *ret_dy = graph->ops[added].outputs[FROZEN_GRAD_DX];
    return attr.side
               ? gradients_send(graph, side, graph->ops[added].outputs[FROZEN_GRAD_DSIDE], err)
               : 0;
}

/* A convolution fused with its bias or frozen norm before the backward pass was made. Mask and
 * scale take one pass over the gradient in any case; after it the products are those of the plain
 * convolution. */
int gradient_conv2d_affine(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int dy, bias = op.inputs[AFFINE_BIAS];
    if (bias == TENSOR_NONE)
        return before_frozen_norm(graph, &op, &dy, err) != 0 ? -1
                                                             : send_conv2d(graph, &op, dy, err);
    if (before_relu(graph, &op, &dy, err) != 0)
        return -1;
    if (gradients_wanted(graph, bias) && gradients_append_to(graph, OP_BIAS_GRAD, &op, (int[]){dy},
                                                             &(struct op_attr){0}, bias, err) != 0)
        return -1;
    if (op.inputs[AFFINE_SIDE] != TENSOR_NONE &&
        gradients_send(graph, op.inputs[AFFINE_SIDE], dy, err) != 0)
        return -1;
    return send_conv2d(graph, &op, dy, err);
}

/* Each map gets its own channels of dy, which begin where those of the maps before it end. */
int gradient_concat(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int dy = gradients_of(graph, op.outputs[0]);
    struct op_attr attr = {.channel = 0};
    for (int i = 0; i < CONCAT_INPUTS && op.inputs[i] != TENSOR_NONE; i++) {
        attr.target = graph->tensors[op.inputs[i]].shape;
        if (gradients_wanted(graph, op.inputs[i]) &&
            gradients_append_to(graph, OP_CHANNELS, &op, (int[]){dy}, &attr, op.inputs[i], err) !=
                0)
            return -1;
        attr.channel += (int)attr.target.dim[attr.target.rank - 1];
    }
    return 0;
}

/* The same operator with the same keys zeroes the same places, and scales the others alike. Keys
 * and layer number make the random numbers, so no mask is kept from the forward pass. */
int gradient_dropout(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int inputs[] = {gradients_of(graph, op.outputs[0]), op.inputs[1]};
    return gradients_append_to(graph, OP_DROPOUT, &op, inputs, &op.attr, op.inputs[0], err);
}

/* a gets dy itself; each pixel of b was added to four, and gets the sum of their gradients. */
int gradient_upsample_add(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int dy = gradients_of(graph, op.outputs[0]);
    if (gradients_wanted(graph, op.inputs[1]) &&
        gradients_append_to(graph, OP_UPSAMPLE_GRAD, &op, (int[]){dy}, &op.attr, op.inputs[1],
                            err) != 0)
        return -1;
    return gradients_send(graph, op.inputs[0], dy, err);
}

/* Fills the inputs of the gradient operator from the slots of the forward one. Which of them a form
 * needs is said at enum norm_grad_slot. Mean and deviation are the saved ones of the batch, not the
 * running statistics. A form with a sum cannot recompute its mask from x alone, so it reads y. */
static void norm_grad_inputs(const struct graph *graph, const struct op *op,
                             int inputs[NORM_GRAD_INPUTS]) {
    for (int i = 0; i < NORM_GRAD_INPUTS; i++)
        inputs[i] = TENSOR_NONE;
    inputs[NORM_GRAD_DY] = gradients_of(graph, op->outputs[NORM_Y]);
    inputs[NORM_GRAD_X] = op->inputs[NORM_X];
    inputs[NORM_GRAD_GAMMA] = op->inputs[NORM_GAMMA];
    inputs[NORM_GRAD_BETA] = op->inputs[NORM_BETA];
    inputs[NORM_GRAD_MEAN] = op->outputs[NORM_SAVED_MEAN];
    inputs[NORM_GRAD_INVSTD] = op->outputs[NORM_SAVED_INVSTD];
    if (op->attr.form == NORM_RELU_MAX_POOL)
        inputs[NORM_GRAD_Y] = op->outputs[NORM_POOL_INDEX];
    if (op->attr.form == NORM_ADD_RELU || op->attr.form == NORM_DUAL_ADD_RELU)
        inputs[NORM_GRAD_Y] = op->outputs[NORM_Y];
    if (op->attr.form == NORM_DUAL_ADD_RELU) {
        inputs[NORM_GRAD_SIDE] = op->inputs[NORM_SIDE];
        inputs[NORM_GRAD_GAMMA2] = op->inputs[NORM_GAMMA2];
        inputs[NORM_GRAD_BETA2] = op->inputs[NORM_BETA2];
        inputs[NORM_GRAD_MEAN2] = op->outputs[NORM_SAVED_MEAN2];
        inputs[NORM_GRAD_INVSTD2] = op->outputs[NORM_SAVED_INVSTD2];
    }
}

/* `flows` pairs each input of the norm with the output of its gradient; slots that the form leaves
 * empty are skipped. */
int gradient_batch_norm(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int inputs[NORM_GRAD_INPUTS];
    norm_grad_inputs(graph, &op, inputs);
    int added = gradients_append(graph, OP_BATCH_NORM_GRAD, &op, inputs, &op.attr, err);
    if (added < 0)
        return -1;
    const struct op grad = graph->ops[added];
    const int flows[][2] = {
        {op.inputs[NORM_X], grad.outputs[NORM_GRAD_DX]},
        {op.inputs[NORM_GAMMA], grad.outputs[NORM_GRAD_DGAMMA]},
        {op.inputs[NORM_BETA], grad.outputs[NORM_GRAD_DBETA]},
        {op.inputs[NORM_SIDE], grad.outputs[NORM_GRAD_DSIDE]},
        {op.inputs[NORM_GAMMA2], grad.outputs[NORM_GRAD_DGAMMA2]},
        {op.inputs[NORM_BETA2], grad.outputs[NORM_GRAD_DBETA2]},
    };
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
        if (flows[i][0] != TENSOR_NONE && gradients_send(graph, flows[i][0], flows[i][1], err) != 0)
            return -1;
    return 0;
}

/* In a frozen norm only x and the side have gradients. y is needed for the mask of a ReLU alone. */
int gradient_frozen_norm(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    bool dual = op.attr.form == NORM_DUAL_ADD_RELU;
    int inputs[FROZEN_GRAD_INPUTS] = {
        [FROZEN_GRAD_DY] = gradients_of(graph, op.outputs[NORM_Y]),
        [FROZEN_GRAD_Y] = op.attr.form == NORM_PLAIN ? TENSOR_NONE : op.outputs[NORM_Y],
        [FROZEN_GRAD_GAMMA] = op.inputs[NORM_GAMMA],
        [FROZEN_GRAD_VARIANCE] = op.inputs[NORM_VARIANCE],
        [FROZEN_GRAD_GAMMA2] = dual ? op.inputs[NORM_GAMMA2] : TENSOR_NONE,
        [FROZEN_GRAD_VARIANCE2] = dual ? op.inputs[NORM_VARIANCE2] : TENSOR_NONE,
    };
    struct op_attr attr = op.attr;
    attr.side = gradients_wanted(graph, op.inputs[NORM_SIDE]);
    int added = gradients_append(graph, OP_FROZEN_NORM_GRAD, &op, inputs, &attr, err);
    if (added < 0)
        return -1;
    int dx = graph->ops[added].outputs[FROZEN_GRAD_DX];
    int dside = graph->ops[added].outputs[FROZEN_GRAD_DSIDE];
    if (gradients_send(graph, op.inputs[NORM_X], dx, err) != 0)
        return -1;
    return attr.side ? gradients_send(graph, op.inputs[NORM_SIDE], dside, err) : 0;
}

/* In the list each function is followed by its gradient (ops_dense.def), which reads dy and y. */
int gradient_pointwise(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int inputs[] = {gradients_of(graph, op.outputs[0]), op.outputs[0]};
    return gradients_append_to(graph, (enum op_kind)(op.kind + 1), &op, inputs, &op.attr,
                               op.inputs[0], err);
}

/* Both summands share the gradient of the sum: no operator, and the same tensor twice. A further
 * gradient for one of them makes a new tensor (gradients_send). */
int gradient_add(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int dy = gradients_of(graph, op.outputs[0]);
    if (gradients_send(graph, op.inputs[0], dy, err) != 0)
        return -1;
    return gradients_send(graph, op.inputs[1], dy, err);
}

/* The sum was fused with its ReLU: dy is masked once, and both summands share the result. */
int gradient_add_relu(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    int inputs[] = {gradients_of(graph, op.outputs[0]), op.outputs[0]};
    int added = gradients_append(graph, OP_RELU_GRAD, &op, inputs, &op.attr, err);
    if (added < 0)
        return -1;
    int masked = graph->ops[added].outputs[0];
    if (gradients_send(graph, op.inputs[0], masked, err) != 0)
        return -1;
    return gradients_send(graph, op.inputs[1], masked, err);
}

/* The second output of the pool has the place of each maximum; dx is zero elsewhere. */
int gradient_max_pool(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    struct op_attr attr = op.attr;
    attr.target = graph->tensors[op.inputs[0]].shape;
    int inputs[] = {gradients_of(graph, op.outputs[0]), op.outputs[1]};
    return gradients_append_to(graph, OP_MAX_POOL_GRAD, &op, inputs, &attr, op.inputs[0], err);
}

/* Each cell of a window has the same share of its mean, so the gradient needs dy alone; the forward
 * input's shape is the target. */
int gradient_avg_pool(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    struct op_attr attr = op.attr;
    attr.target = graph->tensors[op.inputs[0]].shape;
    int inputs[] = {gradients_of(graph, op.outputs[0])};
    return gradients_append_to(graph, OP_AVG_POOL_GRAD, &op, inputs, &attr, op.inputs[0], err);
}

/* Attributes other than the target do not matter, as the window is the whole picture. */
int gradient_global_avg_pool(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    struct op_attr attr = {.target = graph->tensors[op.inputs[0]].shape};
    int inputs[] = {gradients_of(graph, op.outputs[0])};
    return gradients_append_to(graph, OP_GLOBAL_AVG_POOL_GRAD, &op, inputs, &attr, op.inputs[0],
                               err);
}

/* Weights and bias are computed by one operator, since both sum over the same rows. The gradient of
 * x has the shape of x, which may be a map that the layer has flattened. */
int gradient_linear(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    struct op_attr attr = op.attr;
    int x = op.inputs[0], w = op.inputs[1], dy;
    if (before_relu(graph, &op, &dy, err) != 0)
        return -1;
    attr.target = graph->tensors[w].shape;
    int added = gradients_append(graph, OP_LINEAR_GRAD_WEIGHT, &op, (int[]){dy, x}, &attr, err);
    if (added < 0)
        return -1;
    int dw = graph->ops[added].outputs[0], dbias = graph->ops[added].outputs[1];
    if (gradients_send(graph, w, dw, err) != 0 ||
        gradients_send(graph, op.inputs[2], dbias, err) != 0)
        return -1;
    if (!gradients_wanted(graph, x))
        return 0;
    attr.target = graph->tensors[x].shape;
    return gradients_append_to(graph, OP_LINEAR_GRAD_DATA, &op, (int[]){dy, w}, &attr, x, err);
}

/* A loss has no gradient of its output to read: it starts the backward pass. attr.gradient_scale
 * says how much it counts. */
int gradient_loss(struct graph *graph, int number, struct error *err) {
    struct op op = graph->ops[number];
    return gradients_append_to(graph, OP_SOFTMAX_CROSS_ENTROPY_GRAD, &op, op.inputs, &op.attr,
                               op.inputs[0], err);
}
