#include "graph/rules.h"

/* [C] of the norm in front, both forms of it, and [3, O] of the one behind. */
static int expect_norms(const struct graph *graph, const struct op *op, int64_t channels,
                        int64_t outputs, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    for (int i = CONV_BACKWARD_SCALE; i <= CONV_BACKWARD_INVSTD; i++)
        if (rule_expect_of(graph, op, i, i < CONV_BACKWARD_GAMMA ? graph->dtype : wide,
                           shape_1(channels), err) != 0)
            return -1;
    return rule_expect_of(graph, op, CONV_BACKWARD_COEFFICIENTS, wide, shape_2(3, outputs), err);
}

int shape_conv2d_backward_norm(struct graph *graph, struct op *op, struct error *err) {
    const struct shape x = op->attr.target;
    enum dtype wide = dtype_wide(graph->dtype);
    if (rule_expect_rank(graph, op, CONV_BACKWARD_W, wide, 4, err) != 0)
        return -1;
    const struct shape w = rule_input(graph, op, CONV_BACKWARD_W)->shape;
    struct shape g = x;
    g.dim[3] = w.dim[0];
    if (op->attr.window.kernel != 1 || op->attr.window.stride != 1 || op->attr.window.pad != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "conv2d_backward_norm is of windows of 1x1");
    if (rule_expect(graph, op, CONV_BACKWARD_G, graph->dtype, &g, err) != 0 ||
        rule_expect(graph, op, CONV_BACKWARD_Z, graph->dtype, &g, err) != 0 ||
        rule_expect(graph, op, CONV_BACKWARD_X, graph->dtype, &x, err) != 0 ||
        rule_expect_of(graph, op, CONV_BACKWARD_W, wide, shape_4(g.dim[3], 1, 1, x.dim[3]), err) !=
            0 ||
        expect_norms(graph, op, x.dim[3], g.dim[3], err) != 0)
        return -1;
    if (graph_set_output(graph, op, CONV_BACKWARD_DX, graph->dtype, x, err) != 0 ||
        graph_set_output(graph, op, CONV_BACKWARD_DGAMMA, wide, shape_1(x.dim[3]), err) != 0 ||
        graph_set_output(graph, op, CONV_BACKWARD_DBETA, wide, shape_1(x.dim[3]), err) != 0 ||
        graph_set_output(graph, op, CONV_BACKWARD_DX_COEFFICIENTS, wide, shape_2(3, x.dim[3]),
                         err) != 0)
        return -1;
    return graph_set_output(graph, op, CONV_BACKWARD_DW, wide, w, err);
}
