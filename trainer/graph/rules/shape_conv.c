#include "trainer/graph/rules/rules.h"

#include <inttypes.h>

/* The deviation divides, and comes from a flag or a file, so it is checked here for all networks.
 */
int shape_image_normalize(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, DTYPE_U8, 4, err) != 0)
        return -1;
    struct shape shape = rule_input(graph, op, 0)->shape;
    if (shape.dim[3] != 3 || op->attr.channels < 3)
        return error_set(err, EXIT_CODE_INTERNAL, "an image has 3 channels, not %" PRId64,
                         shape.dim[3]);
    for (int i = 0; i < 3; i++)
        if (!(op->attr.std[i] > 0))
            return error_set(err, EXIT_CODE_USAGE,
                             "a standard deviation of %g: expected more than 0",
                             (double)op->attr.std[i]);
    shape.dim[3] = op->attr.channels;
    return graph_set_output(graph, op, 0, graph->dtype, shape, err);
}

int shape_conv2d(struct graph *graph, struct op *op, struct error *err) {
    struct shape y;
    if (rule_conv_output(graph, op, &y, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, y, err);
}

int shape_conv2d_affine(struct graph *graph, struct op *op, struct error *err) {
    struct shape y;
    if (rule_conv_output(graph, op, &y, err) != 0)
        return -1;
    struct shape channels = shape_1(y.dim[3]);
    bool norm = op->inputs[AFFINE_GAMMA] != TENSOR_NONE;
    for (int i = AFFINE_BIAS; i <= AFFINE_VARIANCE; i++)
        if ((i == AFFINE_BIAS) != norm &&
            rule_expect(graph, op, i, dtype_wide(graph->dtype), &channels, err) != 0)
            return -1;
    if (op->inputs[AFFINE_SIDE] != TENSOR_NONE &&
        rule_expect(graph, op, AFFINE_SIDE, graph->dtype, &y, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, y, err);
}

int shape_conv2d_grad_data(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 1, dtype_wide(graph->dtype), 4, err) != 0)
        return -1;
    const struct shape *w = &rule_input(graph, op, 1)->shape;
    if (rule_check_weights(&op->attr.window, &op->attr.target, w, err) != 0)
        return -1;
    struct shape dy = rule_window_output(&op->attr.target, &op->attr.window, w->dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, op->attr.target, err);
}

int shape_conv2d_grad_weight(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 1, graph->dtype, 4, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 1)->shape;
    if (rule_check_weights(&op->attr.window, x, &op->attr.target, err) != 0)
        return -1;
    struct shape dy = rule_window_output(x, &op->attr.window, op->attr.target.dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, dtype_wide(graph->dtype), op->attr.target, err);
}

int shape_max_pool(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, 0)->shape;
    if (rule_check_pool(&op->attr.window, &x, err) != 0)
        return -1;
    if (op->attr.window.kernel > 15)
        return error_set(err, EXIT_CODE_INTERNAL, "a window of %d does not fit an 8-bit index",
                         op->attr.window.kernel);
    struct shape y = rule_window_output(&x, &op->attr.window, x.dim[3]);
    if (graph_set_output(graph, op, 0, graph->dtype, y, err) != 0)
        return -1;
    return graph->training ? graph_set_output(graph, op, 1, DTYPE_U8, y, err) : 0;
}

int shape_max_pool_grad(struct graph *graph, struct op *op, struct error *err) {
    const struct shape *x = &op->attr.target;
    if (rule_check_pool(&op->attr.window, x, err) != 0)
        return -1;
    struct shape y = rule_window_output(x, &op->attr.window, x->dim[3]);
    if (rule_expect(graph, op, 0, graph->dtype, &y, err) != 0 ||
        rule_expect(graph, op, 1, DTYPE_U8, &y, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, *x, err);
}

int shape_avg_pool(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0)
        return -1;
    const struct shape x = rule_input(graph, op, 0)->shape;
    if (rule_check_pool(&op->attr.window, &x, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype,
                            rule_window_output(&x, &op->attr.window, x.dim[3]), err);
}

int shape_avg_pool_grad(struct graph *graph, struct op *op, struct error *err) {
    const struct shape *x = &op->attr.target;
    if (rule_check_pool(&op->attr.window, x, err) != 0)
        return -1;
    struct shape y = rule_window_output(x, &op->attr.window, x->dim[3]);
    if (rule_expect(graph, op, 0, graph->dtype, &y, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, *x, err);
}

int shape_global_avg_pool(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 0)->shape;
    return graph_set_output(graph, op, 0, graph->dtype, shape_2(x->dim[0], x->dim[3]), err);
}

int shape_global_avg_pool_grad(struct graph *graph, struct op *op, struct error *err) {
    struct shape dy = shape_2(op->attr.target.dim[0], op->attr.target.dim[3]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, op->attr.target, err);
}
