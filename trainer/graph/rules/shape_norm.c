#include "trainer/graph/rules/rules.h"

int shape_frozen_norm_grad(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, FROZEN_GRAD_DY, graph->dtype, 4, err) != 0)
        return -1;
    struct shape dy = rule_input(graph, op, FROZEN_GRAD_DY)->shape, channels = shape_1(dy.dim[3]);
    bool dual = op->inputs[FROZEN_GRAD_GAMMA2] != TENSOR_NONE ||
                op->inputs[FROZEN_GRAD_VARIANCE2] != TENSOR_NONE;
    for (int i = FROZEN_GRAD_GAMMA; i < FROZEN_GRAD_INPUTS; i++)
        if ((i <= FROZEN_GRAD_VARIANCE || dual) &&
            rule_expect(graph, op, i, dtype_wide(graph->dtype), &channels, err) != 0)
            return -1;
    if (op->inputs[FROZEN_GRAD_Y] != TENSOR_NONE &&
        rule_expect(graph, op, FROZEN_GRAD_Y, graph->dtype, &dy, err) != 0)
        return -1;
    if (graph_set_output(graph, op, FROZEN_GRAD_DX, graph->dtype, dy, err) != 0)
        return -1;
    return op->attr.side ? graph_set_output(graph, op, FROZEN_GRAD_DSIDE, graph->dtype, dy, err)
                         : 0;
}

static bool is_dual(const struct op *op) {
    return op->attr.form == NORM_DUAL_ADD_RELU;
}

static bool has_side(const struct op *op) {
    return is_dual(op) || op->attr.form == NORM_ADD_RELU;
}

static bool is_pooled(const struct op *op) {
    return op->attr.form == NORM_RELU_MAX_POOL;
}

static int check_form(const struct op *op, struct error *err) {
    const int form = (int)op->attr.form;
    if (form >= 0 && form < NORM_FORMS && !(is_pooled(op) && op->kind == OP_BATCH_NORM_INFERENCE))
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL, "%s in form %d", op_name(op->kind), form);
}

/* COUNT inputs from SLOT on, each with one value per channel. */
static int expect_channels(const struct graph *graph, const struct op *op, int slot, int count,
                           const struct shape *channels, struct error *err) {
    for (int i = slot; i < slot + count; i++)
        if (rule_expect(graph, op, i, dtype_wide(graph->dtype), channels, err) != 0)
            return -1;
    return 0;
}

static int set_channels(struct graph *graph, struct op *op, int slot, const struct shape *channels,
                        struct error *err) {
    return graph_set_output(graph, op, slot, dtype_wide(graph->dtype), *channels, err);
}

static int set_pool(struct graph *graph, struct op *op, const struct shape *x, struct error *err) {
    struct shape y = rule_window_output(x, &op->attr.window, x->dim[3]);
    if (graph_set_output(graph, op, NORM_Y, graph->dtype, y, err) != 0)
        return -1;
    return graph_set_output(graph, op, NORM_POOL_INDEX, DTYPE_U8, y, err);
}

int shape_batch_norm(struct graph *graph, struct op *op, struct error *err) {
    if (check_form(op, err) != 0 || rule_expect_rank(graph, op, NORM_X, graph->dtype, 4, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, NORM_X)->shape;
    struct shape channels = shape_1(x.dim[3]);
    if (expect_channels(graph, op, NORM_GAMMA, 4, &channels, err) != 0)
        return -1;
    if (has_side(op) && rule_expect(graph, op, NORM_SIDE, graph->dtype, &x, err) != 0)
        return -1;
    if (is_dual(op) && expect_channels(graph, op, NORM_GAMMA2, 4, &channels, err) != 0)
        return -1;
    if (is_pooled(op)) {
        if (set_pool(graph, op, &x, err) != 0)
            return -1;
    } else if (graph_set_output(graph, op, NORM_Y, graph->dtype, x, err) != 0) {
        return -1;
    }
    if (op->kind == OP_BATCH_NORM_INFERENCE)
        return 0;
    if (set_channels(graph, op, NORM_SAVED_MEAN, &channels, err) != 0 ||
        set_channels(graph, op, NORM_SAVED_INVSTD, &channels, err) != 0)
        return -1;
    if (!is_dual(op))
        return 0;
    if (set_channels(graph, op, NORM_SAVED_MEAN2, &channels, err) != 0)
        return -1;
    return set_channels(graph, op, NORM_SAVED_INVSTD2, &channels, err);
}

/* The kind's inputs in addition to dy, x and the first norm's channels. */
static int expect_grad_extras(const struct graph *graph, const struct op *op, const struct shape *x,
                              const struct shape *dy, const struct shape *channels,
                              struct error *err) {
    switch (op->attr.form) {
    case NORM_ADD_RELU:
        return rule_expect(graph, op, NORM_GRAD_Y, graph->dtype, dy, err);
    case NORM_RELU_MAX_POOL:
        return rule_expect(graph, op, NORM_GRAD_Y, DTYPE_U8, dy, err);
    case NORM_DUAL_ADD_RELU:
        if (rule_expect(graph, op, NORM_GRAD_Y, graph->dtype, dy, err) != 0 ||
            rule_expect(graph, op, NORM_GRAD_SIDE, graph->dtype, x, err) != 0)
            return -1;
        return expect_channels(graph, op, NORM_GRAD_GAMMA2, 4, channels, err);
    default:
        return 0;
    }
}

int shape_batch_norm_grad(struct graph *graph, struct op *op, struct error *err) {
    if (check_form(op, err) != 0 ||
        rule_expect_rank(graph, op, NORM_GRAD_X, graph->dtype, 4, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, NORM_GRAD_X)->shape;
    struct shape channels = shape_1(x.dim[3]);
    struct shape dy = x;
    if (is_pooled(op))
        dy = rule_window_output(&x, &op->attr.window, x.dim[3]);
    if (rule_expect(graph, op, NORM_GRAD_DY, graph->dtype, &dy, err) != 0 ||
        expect_channels(graph, op, NORM_GRAD_GAMMA, 4, &channels, err) != 0 ||
        expect_grad_extras(graph, op, &x, &dy, &channels, err) != 0)
        return -1;
    if (op->inputs[NORM_GRAD_DY2] != TENSOR_NONE &&
        rule_expect(graph, op, NORM_GRAD_DY2, graph->dtype, &dy, err) != 0)
        return -1;
    if (graph_set_output(graph, op, NORM_GRAD_DX, graph->dtype, x, err) != 0 ||
        set_channels(graph, op, NORM_GRAD_DGAMMA, &channels, err) != 0 ||
        set_channels(graph, op, NORM_GRAD_DBETA, &channels, err) != 0)
        return -1;
    if (is_dual(op) && (set_channels(graph, op, NORM_GRAD_DGAMMA2, &channels, err) != 0 ||
                        set_channels(graph, op, NORM_GRAD_DBETA2, &channels, err) != 0))
        return -1;
    if (has_side(op))
        return graph_set_output(graph, op, NORM_GRAD_DSIDE, graph->dtype, x, err);
    return 0;
}
