/* Fusion of the backward pass of a region proposal network's head on one level into one operator:
 * the losses involve a few hundred of a hundred thousand anchors, and the separate operators would
 * mostly multiply zeros. */
#include "trainer/graph/fuse/fuser.h"

/* The head before OP_RPN_LOSS_GRAD: t = relu(conv3x3(x) + bias), and two predictors of t. */
struct rpn_head {
    struct op *cls_weight, *cls_data, *box_weight, *box_data; /* of the predictors */
    struct op *sum, *mask, *bias, *conv_weight, *conv_data;
};

/* Returns the first operator of KIND that reads TENSOR in SLOT. */
static struct op *reader(const struct fuser *f, int tensor, enum op_kind kind, int slot) {
    for (int i = 0; i < f->graph->op_count && tensor != TENSOR_NONE; i++)
        if (f->graph->ops[i].kind == kind && f->graph->ops[i].inputs[slot] == tensor)
            return &f->graph->ops[i];
    return NULL;
}

/* Finds the operators that compute gradients of a predictor and of t from DY, if DY has no other
 * readers. */
static bool find_predictor(const struct fuser *f, int dy, struct op **ret_weight,
                           struct op **ret_data) {
    *ret_weight = reader(f, dy, OP_LINEAR_GRAD_WEIGHT, 0);
    *ret_data = reader(f, dy, OP_LINEAR_GRAD_DATA, 0);
    return *ret_weight != NULL && *ret_data != NULL && f->readers[dy] == 2 &&
           f->readers[(*ret_data)->outputs[0]] == 1;
}

static bool find_conv(const struct fuser *f, struct rpn_head *head) {
    int dt = head->mask->outputs[0];
    head->bias = reader(f, dt, OP_BIAS_GRAD, 0);
    head->conv_weight = reader(f, dt, OP_CONV2D_GRAD_WEIGHT, 0);
    head->conv_data = reader(f, dt, OP_CONV2D_GRAD_DATA, 0);
    if (head->bias == NULL || head->conv_weight == NULL || head->conv_data == NULL ||
        f->readers[dt] != 3)
        return false;
    const struct op_window *window = &head->conv_weight->attr.window;
    return window->kernel == 3 && window->stride == 1 && window->pad == 1 &&
           op_window_is_plain(window);
}

static bool find_head(const struct fuser *f, const struct op *loss_grad, struct rpn_head *head) {
    int dlogits = loss_grad->outputs[RPN_LOSS_GRAD_DLOGITS];
    int ddeltas = loss_grad->outputs[RPN_LOSS_GRAD_DDELTAS];
    if (!find_predictor(f, dlogits, &head->cls_weight, &head->cls_data) ||
        !find_predictor(f, ddeltas, &head->box_weight, &head->box_data) ||
        head->cls_weight->inputs[1] != head->box_weight->inputs[1])
        return false;
    int first = head->cls_data->outputs[0], second = head->box_data->outputs[0];
    head->sum = reader(f, first, OP_ADD, 0);
    if (head->sum == NULL)
        head->sum = reader(f, first, OP_ADD, 1);
    if (head->sum == NULL || head->sum->inputs[0] + head->sum->inputs[1] != first + second ||
        f->readers[head->sum->outputs[0]] != 1)
        return false;
    head->mask = reader(f, head->sum->outputs[0], OP_RELU_GRAD, 0);
    return head->mask != NULL && head->mask->inputs[1] == head->cls_weight->inputs[1] &&
           find_conv(f, head);
}

bool fuse_rpn_head(struct fuser *f, struct op *loss_grad) {
    struct rpn_head head;
    if (loss_grad->kind != OP_RPN_LOSS_GRAD || !find_head(f, loss_grad, &head))
        return false;
    struct op fused = *loss_grad;
    fused.kind = OP_RPN_HEAD_GRAD;
    fused.inputs[RPN_HEAD_GRAD_X] = head.conv_weight->inputs[1];
    fused.inputs[RPN_HEAD_GRAD_T] = head.mask->inputs[1];
    fused.inputs[RPN_HEAD_GRAD_W_CONV] = head.conv_data->inputs[1];
    fused.inputs[RPN_HEAD_GRAD_W_CLS] = head.cls_data->inputs[1];
    fused.inputs[RPN_HEAD_GRAD_W_BOX] = head.box_data->inputs[1];
    fused.outputs[RPN_HEAD_GRAD_DX] = head.conv_data->outputs[0];
    fused.outputs[RPN_HEAD_GRAD_DW_CONV] = head.conv_weight->outputs[0];
    fused.outputs[RPN_HEAD_GRAD_DB_CONV] = head.bias->outputs[0];
    for (int i = 0; i < 2; i++) {
        fused.outputs[RPN_HEAD_GRAD_DW_CLS + i] = head.cls_weight->outputs[i];
        fused.outputs[RPN_HEAD_GRAD_DW_BOX + i] = head.box_weight->outputs[i];
    }
    if (!fuser_supports(f, &fused))
        return false;
    struct op *swallowed[] = {head.cls_weight, head.cls_data,    head.box_weight,
                              head.box_data,   head.sum,         head.mask,
                              head.bias,       head.conv_weight, head.conv_data};
    for (size_t i = 0; i < sizeof(swallowed) / sizeof(swallowed[0]); i++)
        swallowed[i]->kind = OP_KINDS;
    *loss_grad = fused;
    fuser_claim_outputs(f->graph, (int)(loss_grad - f->graph->ops));
    fuser_count_readers(f);
    return true;
}
