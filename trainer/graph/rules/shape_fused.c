#include "trainer/graph/rules/rules.h"

/* Shape rules of the operators that fusion makes of convolutions and norms (ops_fused.def; the
 * slots are in op.h). No model appends them: fuse_conv.c and its neighbours call a rule for an
 * operator that they have put together. It makes new tensors for all outputs, of which fusion keeps
 * those that do not exist yet (split_norm).
 *
 * Scale and bias of a norm that is applied on the way have the activation type, as kernels multiply
 * with them; gamma, beta and statistics have the wide one. */

/* Fails unless the COUNT inputs from SLOT on are present, each with one value per channel. */
static int expect_channels(const struct graph *graph, const struct op *op, int slot, int count,
                           enum dtype dtype, int64_t channels, struct error *err) {
    struct shape shape = shape_1(channels);
    for (int i = slot; i < slot + count; i++)
        if (rule_expect(graph, op, i, dtype, &shape, err) != 0)
            return -1;
    return 0;
}

/* Makes output SLOT, one wide value per channel. */
static int set_channels(struct graph *graph, struct op *op, int slot, int64_t channels,
                        struct error *err) {
    return graph_set_output(graph, op, slot, dtype_wide(graph->dtype), shape_1(channels), err);
}

/* A join adds a second input before its ReLU; a dual one normalizes that input, too. Each kind
 * occurs with a convolution after it, and alone. */
static bool is_join(enum op_kind kind) {
    return kind == OP_JOIN_CONV2D_STATS || kind == OP_JOIN_APPLY_RELU;
}

static bool is_dual(enum op_kind kind) {
    return kind == OP_DUAL_JOIN_CONV2D_STATS || kind == OP_DUAL_JOIN_APPLY_RELU;
}

/* Fails unless x and what the kind applies to it are there: scale and bias unless it is a plain
 * convolution, a side of the same shape for a join, and that side's own scale and bias for a dual
 * one. */
static int expect_prologue(const struct graph *graph, const struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, FUSED_CONV_X, graph->dtype, 4, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, FUSED_CONV_X)->shape;
    int64_t channels = x->dim[3];
    if (op->kind != OP_CONV2D_STATS &&
        expect_channels(graph, op, FUSED_CONV_SCALE, 2, graph->dtype, channels, err) != 0)
        return -1;
    if ((is_join(op->kind) || is_dual(op->kind)) &&
        rule_expect(graph, op, FUSED_CONV_SIDE, graph->dtype, x, err) != 0)
        return -1;
    if (!is_dual(op->kind))
        return 0;
    return expect_channels(graph, op, FUSED_CONV_SCALE2, 2, graph->dtype, channels, err);
}

/* The convolution reads x after the prologue, which keeps its shape. Statistics are of the result;
 * a join is written to memory as well, for its other readers. */
int shape_fused_conv2d(struct graph *graph, struct op *op, struct error *err) {
    struct shape y;
    if (expect_prologue(graph, op, err) != 0 || rule_conv_output(graph, op, &y, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, FUSED_CONV_X)->shape;
    if (graph_set_output(graph, op, FUSED_CONV_Y, graph->dtype, y, err) != 0 ||
        set_channels(graph, op, FUSED_CONV_SUM, y.dim[3], err) != 0 ||
        set_channels(graph, op, FUSED_CONV_SQUARE_SUM, y.dim[3], err) != 0)
        return -1;
    if (!is_join(op->kind) && !is_dual(op->kind))
        return 0;
    return graph_set_output(graph, op, FUSED_CONV_JOIN, graph->dtype, x, err);
}

/* Turns sums into a norm: [C] in, [C] out. attr.target is the shape of what was summed: its pixels
 * are the number that the mean divides by. */
int shape_norm_finalize(struct graph *graph, struct op *op, struct error *err) {
    int64_t channels = op->attr.target.dim[3];
    if (expect_channels(graph, op, 0, NORM_FINALIZE_INPUTS, dtype_wide(graph->dtype), channels,
                        err) != 0)
        return -1;
    if (set_channels(graph, op, NORM_FINALIZE_SAVED_MEAN, channels, err) != 0 ||
        set_channels(graph, op, NORM_FINALIZE_SAVED_INVSTD, channels, err) != 0 ||
        graph_set_output(graph, op, NORM_FINALIZE_SCALE, graph->dtype, shape_1(channels), err) != 0)
        return -1;
    return graph_set_output(graph, op, NORM_FINALIZE_BIAS, graph->dtype, shape_1(channels), err);
}

/* The same prologue without a convolution: y is like x. */
int shape_norm_apply(struct graph *graph, struct op *op, struct error *err) {
    if (expect_prologue(graph, op, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, FUSED_CONV_X)->shape;
    return graph_set_output(graph, op, 0, graph->dtype, x, err);
}

/* The plain rule of a weight gradient, after the norm that is recomputed at its second input. */
int shape_norm_conv2d_grad_weight(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 1, graph->dtype, 4, err) != 0)
        return -1;
    int64_t channels = rule_input(graph, op, 1)->shape.dim[3];
    if (expect_channels(graph, op, 2, 2, graph->dtype, channels, err) != 0)
        return -1;
    return shape_conv2d_grad_weight(graph, op, err);
}

/* attr.target is the shape of the data gradient, and of everything that it is combined with. */
static int expect_grad_norm(const struct graph *graph, const struct op *op, struct error *err) {
    const struct shape *x = &op->attr.target;
    enum dtype wide = dtype_wide(graph->dtype);
    bool join = op->kind == OP_CONV2D_GRAD_DATA_ADD_JOIN;
    bool dual = op->kind == OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN;
    if (rule_expect(graph, op, GRAD_DATA_NORM_X, graph->dtype, x, err) != 0 ||
        expect_channels(graph, op, GRAD_DATA_NORM_GAMMA, 4, wide, x->dim[3], err) != 0)
        return -1;
    if (op->kind != OP_CONV2D_GRAD_DATA_NORM &&
        rule_expect(graph, op, GRAD_DATA_NORM_SHORTCUT, graph->dtype, x, err) != 0)
        return -1;
    if ((join || dual) && rule_expect(graph, op, GRAD_DATA_NORM_SIDE, graph->dtype, x, err) != 0)
        return -1;
    return dual ? expect_channels(graph, op, GRAD_DATA_NORM_GAMMA2, 4, wide, x->dim[3], err) : 0;
}

/* Makes dgamma, dbeta and coefficients of one of the norms, from SLOT on; the coefficients are
 * three for each channel (op.h). */
static int set_reductions(struct graph *graph, struct op *op, int slot, struct error *err) {
    int64_t channels = op->attr.target.dim[3];
    if (set_channels(graph, op, slot, channels, err) != 0 ||
        set_channels(graph, op, slot + 1, channels, err) != 0)
        return -1;
    return graph_set_output(graph, op, slot + 2, dtype_wide(graph->dtype), shape_2(3, channels),
                            err);
}

int shape_conv2d_grad_data_norm(struct graph *graph, struct op *op, struct error *err) {
    if (expect_grad_norm(graph, op, err) != 0 || shape_conv2d_grad_data(graph, op, err) != 0 ||
        set_reductions(graph, op, GRAD_DATA_NORM_DGAMMA, err) != 0)
        return -1;
    if (op->kind != OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN)
        return 0;
    return set_reductions(graph, op, GRAD_DATA_NORM_DGAMMA2, err);
}

/* The last pass of a norm's gradient: g and x alike, and the coefficients of both. */
int shape_norm_grad_apply(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0)
        return -1;
    struct shape g = rule_input(graph, op, 0)->shape;
    struct shape coefficients = shape_2(3, g.dim[3]);
    if (rule_expect(graph, op, 1, graph->dtype, &g, err) != 0 ||
        rule_expect(graph, op, 2, dtype_wide(graph->dtype), &coefficients, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, g, err);
}

/* Fails unless gamma and variance of OUTPUTS channels are in SLOT and the next one. */
static int expect_scale(const struct graph *graph, const struct op *op, int slot, int64_t outputs,
                        struct error *err) {
    return expect_channels(graph, op, slot, 2, dtype_wide(graph->dtype), outputs, err);
}

/* Scale, mask and shortcut may each be absent. The gradient of the bias is made only if attr.side
 * asks for it. */
int shape_conv2d_grad_data_affine(struct graph *graph, struct op *op, struct error *err) {
    const struct shape *g = &op->attr.target;
    bool scaled = op->inputs[AFFINE_GRAD_GAMMA] != TENSOR_NONE ||
                  op->inputs[AFFINE_GRAD_VARIANCE] != TENSOR_NONE;
    if (shape_conv2d_grad_data(graph, op, err) != 0 ||
        (scaled && expect_scale(graph, op, AFFINE_GRAD_GAMMA, rule_dim(graph, op, AFFINE_GRAD_W, 0),
                                err) != 0))
        return -1;
    for (int i = AFFINE_GRAD_Y; i <= AFFINE_GRAD_SHORTCUT; i++)
        if (op->inputs[i] != TENSOR_NONE && rule_expect(graph, op, i, graph->dtype, g, err) != 0)
            return -1;
    return op->attr.side ? set_channels(graph, op, AFFINE_GRAD_DBIAS, g->dim[3], err) : 0;
}

/* The frozen norm after the convolution scales its outputs, hence one factor for each row of
 * weights. */
int shape_conv2d_grad_weight_affine(struct graph *graph, struct op *op, struct error *err) {
    if (expect_scale(graph, op, 2, op->attr.target.dim[0], err) != 0)
        return -1;
    return shape_conv2d_grad_weight(graph, op, err);
}
