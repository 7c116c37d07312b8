#include "trainer/graph/rules.h"

#include <inttypes.h>

int rule_expect_rank(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                     int rank, struct error *err) {
    const struct tensor *tensor = rule_input(graph, op, slot);
    if (tensor == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is missing", slot);
    if (tensor->dtype != dtype)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is %s, wanted %s", slot,
                         dtype_name(tensor->dtype), dtype_name(dtype));
    if (tensor->shape.rank != rank)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d has %d dimensions, wanted %d", slot,
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
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is %s, wanted %s", slot,
                         shape_text(&tensor->shape, is), shape_text(shape, wanted));
    }
    return 0;
}

int64_t shape_window(int64_t size, const struct op_window *window) {
    return (size + (int64_t)2 * window->pad - window->kernel) / window->stride + 1;
}

static int check_window(const struct op_window *window, const struct shape *x, struct error *err) {
    char text[SHAPE_TEXT_SIZE];
    if (window->kernel < 1 || window->stride < 1 || window->pad < 0 ||
        window->pad >= window->kernel)
        return error_set(err, EXIT_CODE_INTERNAL, "kernel %d, stride %d, padding %d cannot be",
                         window->kernel, window->stride, window->pad);
    if (x->dim[1] + (int64_t)2 * window->pad < window->kernel ||
        x->dim[2] + (int64_t)2 * window->pad < window->kernel)
        return error_set(err, EXIT_CODE_CONFIG, "a window of %d does not fit into %s",
                         window->kernel, shape_text(x, text));
    return 0;
}

/* The shape of the output of a window over X with CHANNELS channels. */
static struct shape window_output(const struct shape *x, const struct op_window *window,
                                  int64_t channels) {
    return shape_4(x->dim[0], shape_window(x->dim[1], window), shape_window(x->dim[2], window),
                   channels);
}

int shape_image_normalize(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, DTYPE_U8, 4, err) != 0)
        return -1;
    struct shape shape = rule_input(graph, op, 0)->shape;
    if (shape.dim[3] != 3 || op->attr.channels < 3)
        return error_set(err, EXIT_CODE_INTERNAL, "an image has 3 channels, not %" PRId64,
                         shape.dim[3]);
    shape.dim[3] = op->attr.channels;
    return graph_set_output(graph, op, 0, graph->dtype, shape, err);
}

/* W [O,KH,KW,I] for a picture X, of whose channels those beyond I are padding. */
static int check_weights(const struct op_window *window, const struct shape *x,
                         const struct shape *w, struct error *err) {
    char x_text[SHAPE_TEXT_SIZE], w_text[SHAPE_TEXT_SIZE];
    if (check_window(window, x, err) != 0)
        return -1;
    if (w->dim[1] != window->kernel || w->dim[2] != window->kernel || w->dim[3] > x->dim[3])
        return error_set(err, EXIT_CODE_INTERNAL, "weights %s do not fit input %s",
                         shape_text(w, w_text), shape_text(x, x_text));
    return 0;
}

int rule_conv_output(const struct graph *graph, const struct op *op, struct shape *ret_shape,
                     struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0 ||
        rule_expect_rank(graph, op, 1, dtype_wide(graph->dtype), 4, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 0)->shape;
    const struct shape *w = &rule_input(graph, op, 1)->shape;
    if (check_weights(&op->attr.window, x, w, err) != 0)
        return -1;
    *ret_shape = window_output(x, &op->attr.window, w->dim[0]);
    return 0;
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
    if (check_weights(&op->attr.window, &op->attr.target, w, err) != 0)
        return -1;
    struct shape dy = window_output(&op->attr.target, &op->attr.window, w->dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, op->attr.target, err);
}

int shape_conv2d_grad_weight(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 1, graph->dtype, 4, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 1)->shape;
    struct shape dy = window_output(x, &op->attr.window, op->attr.target.dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, dtype_wide(graph->dtype), op->attr.target, err);
}

int shape_max_pool(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, 0)->shape;
    if (check_window(&op->attr.window, &x, err) != 0)
        return -1;
    if (op->attr.window.kernel > 15)
        return error_set(err, EXIT_CODE_INTERNAL, "a window of %d has no 8-bit index",
                         op->attr.window.kernel);
    struct shape y = window_output(&x, &op->attr.window, x.dim[3]);
    if (graph_set_output(graph, op, 0, graph->dtype, y, err) != 0)
        return -1;
    return graph->training ? graph_set_output(graph, op, 1, DTYPE_U8, y, err) : 0;
}

int shape_max_pool_grad(struct graph *graph, struct op *op, struct error *err) {
    const struct shape *x = &op->attr.target;
    struct shape y = window_output(x, &op->attr.window, x->dim[3]);
    if (rule_expect(graph, op, 0, graph->dtype, &y, err) != 0 ||
        rule_expect(graph, op, 1, DTYPE_U8, &y, err) != 0)
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
