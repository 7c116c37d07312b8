#include "graph/rules.h"

int shape_activation(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *x = rule_input(graph, op, 0);
    if (x == NULL || x->dtype != graph->dtype)
        return error_set(err, EXIT_CODE_INTERNAL, "input 0 is no activation");
    return graph_set_output(graph, op, 0, graph->dtype, x->shape, err);
}

int shape_pair(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *a = rule_input(graph, op, 0);
    if (a == NULL || rule_expect(graph, op, 1, a->dtype, &a->shape, err) != 0)
        return a == NULL ? error_set(err, EXIT_CODE_INTERNAL, "input 0 is missing") : -1;
    if (a->dtype != graph->dtype && a->dtype != dtype_wide(graph->dtype))
        return error_set(err, EXIT_CODE_INTERNAL, "sums of %s are none of this graph's",
                         dtype_name(a->dtype));
    return graph_set_output(graph, op, 0, a->dtype, a->shape, err);
}

int shape_linear(struct graph *graph, struct op *op, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    if (rule_expect_rank(graph, op, 0, graph->dtype, 2, err) != 0 ||
        rule_expect_rank(graph, op, 1, wide, 2, err) != 0)
        return -1;
    int64_t rows = rule_input(graph, op, 0)->shape.dim[0];
    int64_t inputs = rule_input(graph, op, 0)->shape.dim[1];
    int64_t outputs = rule_input(graph, op, 1)->shape.dim[0];
    struct shape w = shape_2(outputs, inputs), bias = shape_1(outputs);
    if (rule_expect(graph, op, 1, wide, &w, err) != 0 ||
        rule_expect(graph, op, 2, wide, &bias, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, wide, shape_2(rows, outputs), err);
}

int shape_linear_grad_data(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 2, err) != 0 ||
        rule_expect_rank(graph, op, 1, dtype_wide(graph->dtype), 2, err) != 0)
        return -1;
    const struct shape *w = &rule_input(graph, op, 1)->shape;
    struct shape dy = shape_2(rule_input(graph, op, 0)->shape.dim[0], w->dim[0]);
    struct shape dx = shape_2(dy.dim[0], w->dim[1]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, dx, err);
}

int shape_linear_grad_weight(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 2, err) != 0 ||
        rule_expect_rank(graph, op, 1, graph->dtype, 2, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 1)->shape;
    int64_t outputs = rule_input(graph, op, 0)->shape.dim[1];
    struct shape dy = shape_2(x->dim[0], outputs), dw = shape_2(outputs, x->dim[1]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    enum dtype wide = dtype_wide(graph->dtype);
    if (graph_set_output(graph, op, 0, wide, dw, err) != 0)
        return -1;
    return graph_set_output(graph, op, 1, wide, shape_1(outputs), err);
}

static int expect_loss_inputs(const struct graph *graph, const struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, dtype_wide(graph->dtype), 2, err) != 0)
        return -1;
    struct shape samples = shape_1(rule_input(graph, op, 0)->shape.dim[0]);
    if (rule_expect(graph, op, 1, DTYPE_I32, &samples, err) != 0)
        return -1;
    return rule_expect(graph, op, 2, DTYPE_F32, &samples, err);
}

int shape_loss(struct graph *graph, struct op *op, struct error *err) {
    if (expect_loss_inputs(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, dtype_wide(graph->dtype), shape_1(LOSS_METRICS), err);
}

int shape_loss_grad(struct graph *graph, struct op *op, struct error *err) {
    if (expect_loss_inputs(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, rule_input(graph, op, 0)->shape, err);
}
