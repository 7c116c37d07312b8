#include "trainer/graph/rules/rules.h"

#include <inttypes.h>

int rule_expect_rank(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                     int rank, struct error *err) {
    const struct tensor *tensor = rule_input(graph, op, slot);
    if (tensor == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is missing", slot);
    if (tensor->dtype != dtype)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is %s, expected %s", slot,
                         dtype_name(tensor->dtype), dtype_name(dtype));
    if (tensor->shape.rank != rank)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d has %d dimensions, expected %d", slot,
                         tensor->shape.rank, rank);
    return 0;
}

int rule_expect(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                const struct shape *shape, struct error *err) {
    if (rule_expect_rank(graph, op, slot, dtype, shape->rank, err) != 0)
        return -1;
    const struct tensor *tensor = rule_input(graph, op, slot);
    if (!shape_equal(&tensor->shape, shape)) {
        char is[SHAPE_TEXT_SIZE], wanted[SHAPE_TEXT_SIZE];
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is %s, expected %s", slot,
                         shape_text(&tensor->shape, is), shape_text(shape, wanted));
    }
    return 0;
}

/* The output's size along AXIS of a window over SIZE pixels. */
static int64_t window_count(int64_t size, const struct op_window *window, int axis) {
    return (size + (int64_t)2 * op_window_pad(window, axis) - op_window_kernel(window, axis)) /
               window->stride +
           1;
}

int rule_check_window(const struct op_window *window, const struct shape *x, struct error *err) {
    char text[SHAPE_TEXT_SIZE];
    for (int axis = 0; axis < 2; axis++) {
        const int kernel = op_window_kernel(window, axis), pad = op_window_pad(window, axis);
        if (kernel < 1 || window->stride < 1 || pad < 0 || pad >= kernel)
            return error_set(err, EXIT_CODE_INTERNAL,
                             "kernel %d, stride %d, padding %d are impossible", kernel,
                             window->stride, pad);
        if (x->dim[1 + axis] + (int64_t)2 * pad < kernel)
            return error_set(err, EXIT_CODE_CONFIG, "a window of %d does not fit into %s", kernel,
                             shape_text(x, text));
    }
    return 0;
}

int rule_check_pool(const struct op_window *window, const struct shape *x, struct error *err) {
    if (!op_window_is_plain(window))
        return error_set(err, EXIT_CODE_INTERNAL,
                         "a pool of %d x %d cells, padding %d and %d, in %d groups: expected a "
                         "square window and one group",
                         window->kernel, op_window_kernel(window, 1), window->pad,
                         op_window_pad(window, 1), op_window_groups(window));
    return rule_check_window(window, x, err);
}

struct shape rule_window_output(const struct shape *x, const struct op_window *window,
                                int64_t channels) {
    return shape_4(x->dim[0], window_count(x->dim[1], window, 0),
                   window_count(x->dim[2], window, 1), channels);
}

int rule_check_weights(const struct op_window *window, const struct shape *x, const struct shape *w,
                       struct error *err) {
    char x_text[SHAPE_TEXT_SIZE], w_text[SHAPE_TEXT_SIZE];
    const int groups = op_window_groups(window);
    if (rule_check_window(window, x, err) != 0)
        return -1;
    if (groups < 1 || x->dim[3] % groups != 0 || w->dim[0] % groups != 0)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "%d groups do not divide %" PRId64 " inputs and %" PRId64
                         " outputs: expected a divisor of both",
                         groups, x->dim[3], w->dim[0]);
    if (w->dim[1] != op_window_kernel(window, 0) || w->dim[2] != op_window_kernel(window, 1) ||
        (groups > 1 ? w->dim[3] * groups != x->dim[3] : w->dim[3] > x->dim[3]))
        return error_set(err, EXIT_CODE_INTERNAL, "weights %s do not fit input %s in %d group%s",
                         shape_text(w, w_text), shape_text(x, x_text), groups,
                         groups == 1 ? "" : "s");
    return 0;
}

int rule_conv_output(const struct graph *graph, const struct op *op, struct shape *ret_shape,
                     struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0 ||
        rule_expect_rank(graph, op, 1, dtype_wide(graph->dtype), 4, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 0)->shape;
    const struct shape *w = &rule_input(graph, op, 1)->shape;
    if (rule_check_weights(&op->attr.window, x, w, err) != 0)
        return -1;
    *ret_shape = rule_window_output(x, &op->attr.window, w->dim[0]);
    return 0;
}
