#include "trainer/graph/rules/rules.h"

/* The slots of a kind's own operands: [C] each, or shaped as y. */
struct operands {
    int first, last; /* those of the preceding norm; first > last: none */
    bool x, shortcut, y;
};

static struct operands operands_of(enum op_kind kind) {
    switch (kind) {
    case OP_CONV2D_BACKWARD_NORM:
        return (struct operands){
            .first = CONV_BACKWARD_SCALE, .last = CONV_BACKWARD_INVSTD, .x = true};
    case OP_CONV2D_BACKWARD_JOIN:
        return (struct operands){.first = CONV_BACKWARD_GAMMA,
                                 .last = CONV_BACKWARD_INVSTD,
                                 .x = true,
                                 .shortcut = true,
                                 .y = true};
    default:
        return (struct operands){.first = 1, .last = 0, .y = true};
    }
}

static int expect_operands(const struct graph *graph, const struct op *op, const struct shape *y,
                           struct error *err) {
    const struct operands o = operands_of(op->kind);
    enum dtype wide = dtype_wide(graph->dtype);
    if ((o.x && rule_expect(graph, op, CONV_BACKWARD_X, graph->dtype, y, err) != 0) ||
        (o.shortcut && rule_expect(graph, op, CONV_BACKWARD_SHORTCUT, graph->dtype, y, err) != 0) ||
        (o.y && rule_expect(graph, op, CONV_BACKWARD_Y, graph->dtype, y, err) != 0))
        return -1;
    for (int i = o.first; i <= o.last; i++) {
        bool unused = i == CONV_BACKWARD_BETA && op->kind == OP_CONV2D_BACKWARD_JOIN;
        if (!unused && rule_expect_of(graph, op, i, i < CONV_BACKWARD_GAMMA ? graph->dtype : wide,
                                      shape_1(y->dim[3]), err) != 0)
            return -1;
    }
    return 0;
}

static int set_outputs(struct graph *graph, struct op *op, const struct shape *y,
                       const struct shape *w, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    const struct shape channels = shape_1(y->dim[3]);
    if (graph_set_output(graph, op, CONV_BACKWARD_DX, graph->dtype, *y, err) != 0 ||
        graph_set_output(graph, op, CONV_BACKWARD_DW, wide, *w, err) != 0)
        return -1;
    if (op->kind == OP_CONV2D_BACKWARD)
        return 0;
    if (graph_set_output(graph, op, CONV_BACKWARD_DGAMMA, wide, channels, err) != 0 ||
        graph_set_output(graph, op, CONV_BACKWARD_DBETA, wide, channels, err) != 0)
        return -1;
    return graph_set_output(graph, op, CONV_BACKWARD_DX_COEFFICIENTS, wide, shape_2(3, y->dim[3]),
                            err);
}

int shape_conv2d_backward(struct graph *graph, struct op *op, struct error *err) {
    const struct shape y = op->attr.target;
    enum dtype wide = dtype_wide(graph->dtype);
    if (rule_expect_rank(graph, op, CONV_BACKWARD_W, wide, 4, err) != 0)
        return -1;
    const struct shape w = rule_input(graph, op, CONV_BACKWARD_W)->shape;
    struct shape g = y;
    g.dim[3] = w.dim[0];
    if (op->attr.window.kernel != 1 || op->attr.window.stride != 1 || op->attr.window.pad != 0 ||
        !op_window_is_plain(&op->attr.window))
        return error_set(err, EXIT_CODE_INTERNAL, "%s needs 1x1 windows", op_name(op->kind));
    if (rule_expect(graph, op, CONV_BACKWARD_G, graph->dtype, &g, err) != 0 ||
        rule_expect(graph, op, CONV_BACKWARD_Z, graph->dtype, &g, err) != 0 ||
        rule_expect_of(graph, op, CONV_BACKWARD_COEFFICIENTS, wide, shape_2(3, g.dim[3]), err) !=
            0 ||
        rule_expect_of(graph, op, CONV_BACKWARD_W, wide, shape_4(g.dim[3], 1, 1, y.dim[3]), err) !=
            0 ||
        expect_operands(graph, op, &y, err) != 0)
        return -1;
    return set_outputs(graph, op, &y, &w, err);
}
