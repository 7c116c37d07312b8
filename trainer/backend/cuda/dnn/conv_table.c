#include "trainer/backend/cuda/dnn/conv_table.h"

#include "trainer/graph/op.h"

/* cuDNN knows tensors of a graph by numeric ids (enum dnn_uid), operators by slots (graph/op.h). A
 * row of this table joins both: the kind of operator, the pattern of its graph, and for each id the
 * slot of its tensor. step_conv.c reads everything else from it: addresses, shapes, which operand
 * is the weights. A new fusion is a new pattern in dnn_graph.c and a new row here.
 *
 * One kind may have several rows, as OP_CONV2D_AFFINE has for its optional ReLU and shortcut;
 * serves() tells them apart by the operator's inputs. */

/* Rows name members, since those that are left out are zero: an input, of one part, from a
 * tensor. */
#define IN(uid_, slot_)                                                                            \
    { .uid = (uid_), .slot = (slot_) }
#define OUT(uid_, slot_)                                                                           \
    { .uid = (uid_), .output = true, .slot = (slot_) }
/* The three coefficients of a norm's gradient, one tensor [3, C]. */
#define COEFFICIENTS(uid_, slot_)                                                                  \
    { .uid = (uid_), .output = true, .slot = (slot_), .parts = 3 }

/* The output and the sums over it that the following norm needs. */
#define STATISTICS                                                                                 \
    OUT(DNN_UID_Y, FUSED_CONV_Y), OUT(DNN_UID_SUM, FUSED_CONV_SUM),                                \
        OUT(DNN_UID_SQUARE_SUM, FUSED_CONV_SQUARE_SUM)
/* A convolution that applies the preceding norm as it reads its input. */
#define NORMED                                                                                     \
    IN(DNN_UID_X, FUSED_CONV_X), IN(DNN_UID_W, FUSED_CONV_W), IN(DNN_UID_SCALE, FUSED_CONV_SCALE), \
        IN(DNN_UID_BIAS, FUSED_CONV_BIAS)
/* The bias is the given one, or a folded norm's. */
#define BIASED                                                                                     \
    IN(DNN_UID_X, AFFINE_X), IN(DNN_UID_W, AFFINE_W), IN(DNN_UID_BIAS, AFFINE_BIAS),               \
        OUT(DNN_UID_Y, 0)
/* The operands of a norm's backward pass, at BASE plus enum dnn_norm_uid. */
#define NORM_OF(base, x, gamma, beta, mean, invstd, dgamma, dbeta)                                 \
    IN((base) + DNN_NORM_X, x), IN((base) + DNN_NORM_GAMMA, gamma),                                \
        IN((base) + DNN_NORM_BETA, beta), IN((base) + DNN_NORM_MEAN, mean),                        \
        IN((base) + DNN_NORM_INV_STD, invstd), OUT((base) + DNN_NORM_DGAMMA, dgamma),              \
        OUT((base) + DNN_NORM_DBETA, dbeta)
/* A data gradient that ends with the ReLU and the reductions of the norm before the convolution. */
#define GRAD_DATA                                                                                  \
    IN(DNN_UID_Y, GRAD_DATA_NORM_DY), IN(DNN_UID_W, GRAD_DATA_NORM_W),                             \
        OUT(DNN_UID_DX, GRAD_DATA_NORM_G),                                                         \
        NORM_OF(DNN_UID_NORM, GRAD_DATA_NORM_X, GRAD_DATA_NORM_GAMMA, GRAD_DATA_NORM_BETA,         \
                GRAD_DATA_NORM_MEAN, GRAD_DATA_NORM_INVSTD, GRAD_DATA_NORM_DGAMMA,                 \
                GRAD_DATA_NORM_DBETA),                                                             \
        COEFFICIENTS(DNN_UID_COEFFICIENT, GRAD_DATA_NORM_COEFFICIENTS)
/* An id that is no tensor of the operator: constants, or memory for a result that is never read.
 * See enum conv_fill. */
#define FILL(uid_, parts_, fill_)                                                                  \
    { .uid = (uid_), .parts = (parts_), .fill = (fill_) }
/* The convolution's input is masked by itself, as by an identity norm; the sums for that norm's
 * beta are the bias's gradient. */
#define MASKED                                                                                     \
    IN(DNN_UID_Y, AFFINE_GRAD_DY), IN(DNN_UID_W, AFFINE_GRAD_W), OUT(DNN_UID_DX, AFFINE_GRAD_G),   \
        IN(DNN_UID_NORM + DNN_NORM_X, AFFINE_GRAD_Y),                                              \
        FILL(DNN_UID_NORM + DNN_NORM_GAMMA, 1, CONV_ONES),                                         \
        FILL(DNN_UID_NORM + DNN_NORM_BETA, 1, CONV_ZEROS),                                         \
        FILL(DNN_UID_NORM + DNN_NORM_MEAN, 1, CONV_ZEROS),                                         \
        FILL(DNN_UID_NORM + DNN_NORM_INV_STD, 1, CONV_ONES),                                       \
        FILL(DNN_UID_NORM + DNN_NORM_DGAMMA, 1, CONV_SPARE),                                       \
        OUT(DNN_UID_NORM + DNN_NORM_DBETA, AFFINE_GRAD_DBIAS),                                     \
        FILL(DNN_UID_COEFFICIENT, 3, CONV_SPARE)
#define SHORTCUT IN(DNN_UID_SHORTCUT, GRAD_DATA_NORM_SHORTCUT)

/* The order matters only where two rows have the same kind; then serves() decides. A row of an
 * operator without a graph does not exist: fusion asks conv_table() through convs_support(). */
static const struct conv_table forms[] = {
    {OP_CONV2D, DNN_FORWARD, {IN(DNN_UID_X, 0), IN(DNN_UID_W, 1), OUT(DNN_UID_Y, 0)}},
    {OP_CONV2D_GRAD_DATA, DNN_GRAD_DATA, {IN(DNN_UID_Y, 0), IN(DNN_UID_W, 1), OUT(DNN_UID_DX, 0)}},
    {OP_CONV2D_GRAD_WEIGHT,
     DNN_GRAD_WEIGHT,
     {IN(DNN_UID_Y, 0), IN(DNN_UID_X, 1), OUT(DNN_UID_W, 0)}},
    {OP_CONV2D_STATS,
     DNN_FORWARD_STATS,
     {IN(DNN_UID_X, FUSED_CONV_X), IN(DNN_UID_W, FUSED_CONV_W), STATISTICS}},
    {OP_NORM_CONV2D_STATS, DNN_NORM_FORWARD_STATS, {NORMED, STATISTICS}},
    {OP_JOIN_CONV2D_STATS,
     DNN_JOIN_FORWARD_STATS,
     {NORMED, IN(DNN_UID_RESIDUAL, FUSED_CONV_SIDE), STATISTICS,
      OUT(DNN_UID_JOIN, FUSED_CONV_JOIN)}},
    {OP_DUAL_JOIN_CONV2D_STATS,
     DNN_DUAL_JOIN_FORWARD_STATS,
     {NORMED, IN(DNN_UID_X2, FUSED_CONV_SIDE), IN(DNN_UID_SCALE2, FUSED_CONV_SCALE2),
      IN(DNN_UID_BIAS2, FUSED_CONV_BIAS2), STATISTICS, OUT(DNN_UID_JOIN, FUSED_CONV_JOIN)}},
    {OP_CONV2D_AFFINE, DNN_FORWARD_BIAS, {BIASED}},
    {OP_CONV2D_AFFINE, DNN_FORWARD_BIAS_RELU, {BIASED}},
    {OP_CONV2D_AFFINE, DNN_FORWARD_BIAS_ADD_RELU, {BIASED, IN(DNN_UID_RESIDUAL, AFFINE_SIDE)}},
    {OP_NORM_CONV2D_GRAD_WEIGHT,
     DNN_NORM_GRAD_WEIGHT,
     {IN(DNN_UID_Y, 0), IN(DNN_UID_X, 1), IN(DNN_UID_SCALE, 2), IN(DNN_UID_BIAS, 3),
      OUT(DNN_UID_W, 0)}},
    {OP_CONV2D_GRAD_DATA_NORM, DNN_GRAD_DATA_NORM, {GRAD_DATA}},
    {OP_CONV2D_GRAD_DATA_ADD_NORM, DNN_GRAD_DATA_ADD_NORM, {GRAD_DATA, SHORTCUT}},
    {OP_CONV2D_GRAD_DATA_ADD_JOIN,
     DNN_GRAD_DATA_ADD_JOIN,
     {GRAD_DATA, SHORTCUT, IN(DNN_UID_RESIDUAL, GRAD_DATA_NORM_SIDE)}},
    {OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN,
     DNN_GRAD_DATA_ADD_DUAL_JOIN,
     {GRAD_DATA, SHORTCUT,
      NORM_OF(DNN_UID_NORM2, GRAD_DATA_NORM_SIDE, GRAD_DATA_NORM_GAMMA2, GRAD_DATA_NORM_BETA2,
              GRAD_DATA_NORM_MEAN2, GRAD_DATA_NORM_INVSTD2, GRAD_DATA_NORM_DGAMMA2,
              GRAD_DATA_NORM_DBETA2),
      COEFFICIENTS(DNN_UID_COEFFICIENT2, GRAD_DATA_NORM_COEFFICIENTS2)}},
    {OP_CONV2D_GRAD_DATA_AFFINE,
     DNN_GRAD_DATA,
     {IN(DNN_UID_Y, AFFINE_GRAD_DY), IN(DNN_UID_W, AFFINE_GRAD_W), OUT(DNN_UID_DX, AFFINE_GRAD_G)}},
    {OP_CONV2D_GRAD_DATA_AFFINE, DNN_GRAD_DATA_NORM, {MASKED}},
    {OP_CONV2D_GRAD_DATA_AFFINE,
     DNN_GRAD_DATA_ADD_NORM,
     {MASKED, IN(DNN_UID_SHORTCUT, AFFINE_GRAD_SHORTCUT)}},
    {OP_CONV2D_GRAD_WEIGHT_AFFINE,
     DNN_GRAD_WEIGHT,
     {IN(DNN_UID_Y, 0), IN(DNN_UID_X, 1), OUT(DNN_UID_W, 0)}},
};

/* Returns the graph for OP_CONV2D_AFFINE; DNN_PATTERN_COUNT: none. A shortcut without a ReLU has no
 * engine in cuDNN 9.19 (dnn_graph.c). */
static enum dnn_pattern affine_pattern(const struct op *op) {
    bool side = op->inputs[AFFINE_SIDE] != TENSOR_NONE;
    if (side)
        return op->attr.relu ? DNN_FORWARD_BIAS_ADD_RELU : DNN_PATTERN_COUNT;
    return op->attr.relu ? DNN_FORWARD_BIAS_RELU : DNN_FORWARD_BIAS;
}

/* The same for OP_CONV2D_GRAD_DATA_AFFINE. A mask makes it a gradient with an identity norm; a sum
 * without a mask has no graph. */
static enum dnn_pattern affine_grad_pattern(const struct op *op) {
    bool masked = op->inputs[AFFINE_GRAD_Y] != TENSOR_NONE;
    bool more = op->inputs[AFFINE_GRAD_SHORTCUT] != TENSOR_NONE;
    if (masked)
        return more ? DNN_GRAD_DATA_ADD_NORM : DNN_GRAD_DATA_NORM;
    return more || op->attr.side ? DNN_PATTERN_COUNT : DNN_GRAD_DATA;
}

/* For most kinds the kind alone decides. */
static bool serves(const struct conv_table *form, const struct op *op) {
    if (form->kind != op->kind)
        return false;
    if (op->kind == OP_CONV2D_AFFINE)
        return form->pattern == affine_pattern(op);
    return op->kind != OP_CONV2D_GRAD_DATA_AFFINE || form->pattern == affine_grad_pattern(op);
}

/* A linear search: it runs when operators are compiled, not in a step. NULL is the answer for an
 * operator without a graph. */
const struct conv_table *conv_table(const struct op *op) {
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (serves(&forms[i], op))
            return &forms[i];
    return NULL;
}

/* For fusion_autotune.c, which looks for the tensors that a pattern reads and writes. */
const struct conv_table *conv_table_of_pattern(enum dnn_pattern pattern) {
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].pattern == pattern)
            return &forms[i];
    return NULL;
}

/* Two kinds count even if no pattern serves them; such operators are not supported. */
bool conv_table_is_conv(const struct op *op) {
    return conv_table(op) != NULL || op->kind == OP_CONV2D_AFFINE ||
           op->kind == OP_CONV2D_GRAD_DATA_AFFINE;
}

/* NULL if the form has no such id. Rows end with an id of 0. */
static const struct tensor *tensor_of(const struct conv_table *form, const struct graph *graph,
                                      const struct op *op, int64_t uid) {
    for (const struct conv_row *row = form->rows; row->uid != 0; row++)
        if (row->uid == uid)
            return &graph->tensors[row->output ? op->outputs[row->slot] : op->inputs[row->slot]];
    return NULL;
}

const struct tensor *conv_table_weights(const struct conv_table *form, const struct graph *graph,
                                        const struct op *op) {
    return tensor_of(form, graph, op, DNN_UID_W);
}

/* A data gradient has no input tensor; its result has the same shape. */
struct dnn_conv conv_table_shape(const struct conv_table *form, const struct graph *graph,
                                 const struct op *op) {
    const struct tensor *x = tensor_of(form, graph, op, DNN_UID_X);
    if (x == NULL)
        x = tensor_of(form, graph, op, DNN_UID_DX);
    const struct tensor *w = conv_table_weights(form, graph, op);
    return (struct dnn_conv){
        .batch = x->shape.dim[0],
        .height = x->shape.dim[1],
        .width = x->shape.dim[2],
        .in_channels = x->shape.dim[3],
        .out_channels = w->shape.dim[0],
        .kernel = {w->shape.dim[1], w->shape.dim[2]},
        .stride = op->attr.window.stride,
        .padding = {op_window_pad(&op->attr.window, 0), op_window_pad(&op->attr.window, 1)},
        .groups = op_window_groups(&op->attr.window)};
}
