#include "trainer/graph/rules/rules.h"
#include "trainer/math/sample_key.h"

#include <inttypes.h>

/* Accepts any shape. */
static int expect_activation(const struct graph *graph, const struct op *op, struct error *err) {
    const struct tensor *x = rule_input(graph, op, 0);
    if (x == NULL || x->dtype != graph->dtype)
        return error_set(err, EXIT_CODE_INTERNAL, "input 0 is not an activation");
    return 0;
}

int shape_activation(struct graph *graph, struct op *op, struct error *err) {
    if (expect_activation(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, rule_input(graph, op, 0)->shape, err);
}

int shape_pair(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *a = rule_input(graph, op, 0);
    if (a == NULL || rule_expect(graph, op, 1, a->dtype, &a->shape, err) != 0)
        return a == NULL ? error_set(err, EXIT_CODE_INTERNAL, "input 0 is missing") : -1;
    if (a->dtype != graph->dtype && a->dtype != dtype_wide(graph->dtype))
        return error_set(err, EXIT_CODE_INTERNAL, "sums of %s do not occur in this graph",
                         dtype_name(a->dtype));
    return graph_set_output(graph, op, 0, a->dtype, a->shape, err);
}

int shape_bias(struct graph *graph, struct op *op, struct error *err) {
    if (shape_activation(graph, op, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 0)->shape;
    struct shape bias = shape_1(x->dim[x->rank - 1]);
    return rule_expect(graph, op, 1, dtype_wide(graph->dtype), &bias, err);
}

int shape_bias_grad(struct graph *graph, struct op *op, struct error *err) {
    if (expect_activation(graph, op, err) != 0)
        return -1;
    const struct shape *dy = &rule_input(graph, op, 0)->shape;
    struct shape bias = shape_1(dy->dim[dy->rank - 1]);
    return graph_set_output(graph, op, 0, dtype_wide(graph->dtype), bias, err);
}

/* All but the last dimension, the channels. */
static bool has_pixels_of(const struct shape *a, const struct shape *b) {
    struct shape same = *b;
    if (a->rank == b->rank)
        same.dim[same.rank - 1] = a->dim[a->rank - 1];
    return shape_equal(a, &same);
}

int shape_concat(struct graph *graph, struct op *op, struct error *err) {
    if (expect_activation(graph, op, err) != 0)
        return -1;
    struct shape y = rule_input(graph, op, 0)->shape;
    for (int i = 1; i < CONCAT_INPUTS; i++) {
        const struct tensor *x = rule_input(graph, op, i);
        char is[SHAPE_TEXT_SIZE], wanted[SHAPE_TEXT_SIZE];
        if (x == NULL)
            continue;
        if (rule_input(graph, op, i - 1) == NULL)
            return error_set(err, EXIT_CODE_INTERNAL, "input %d is missing before input %d", i - 1,
                             i);
        if (x->dtype != graph->dtype || !has_pixels_of(&x->shape, &y))
            return error_set(err, EXIT_CODE_INTERNAL,
                             "input %d is %s %s, which cannot lie beside %s: expected %s of the "
                             "same pixels",
                             i, dtype_name(x->dtype), shape_text(&x->shape, is),
                             shape_text(&y, wanted), dtype_name(graph->dtype));
        y.dim[y.rank - 1] += x->shape.dim[x->shape.rank - 1];
    }
    return graph_set_output(graph, op, 0, graph->dtype, y, err);
}

int shape_channels(struct graph *graph, struct op *op, struct error *err) {
    const struct shape *y = &op->attr.target;
    if (expect_activation(graph, op, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 0)->shape;
    char text[SHAPE_TEXT_SIZE];
    if (!has_pixels_of(x, y) || op->attr.channel < 0 ||
        op->attr.channel + y->dim[y->rank - 1] > x->dim[x->rank - 1])
        return error_set(err, EXIT_CODE_INTERNAL, "%s has no %" PRId64 " channels from %d on",
                         shape_text(x, text), y->dim[y->rank - 1], op->attr.channel);
    return graph_set_output(graph, op, 0, graph->dtype, *y, err);
}

int shape_dropout(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *x = rule_input(graph, op, 0);
    if (shape_activation(graph, op, err) != 0)
        return -1;
    struct shape keys = shape_2(x->shape.dim[0], SAMPLE_KEY_WORDS);
    if (op->attr.rate < 0 || op->attr.rate >= 1)
        return error_set(err, EXIT_CODE_INTERNAL, "a dropout of %g: expected 0 to below 1",
                         op->attr.rate);
    return rule_expect(graph, op, 1, DTYPE_I32, &keys, err);
}

int shape_upsample_add(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0 ||
        rule_expect_rank(graph, op, 1, graph->dtype, 4, err) != 0)
        return -1;
    struct shape a = rule_input(graph, op, 1)->shape;
    a.dim[1] *= 2;
    a.dim[2] *= 2;
    if (rule_expect(graph, op, 0, graph->dtype, &a, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, a, err);
}

int shape_upsample_grad(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, graph->dtype, 4, err) != 0)
        return -1;
    struct shape b = rule_input(graph, op, 0)->shape;
    if (b.dim[1] % 2 != 0 || b.dim[2] % 2 != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "sides to be halved must be even");
    b.dim[1] /= 2;
    b.dim[2] /= 2;
    return graph_set_output(graph, op, 0, graph->dtype, b, err);
}

/* Computes N, I and O of a linear layer from the shapes of X and W. */
static int linear_sizes(const struct shape *x, const struct shape *w, int64_t *ret_rows,
                        int64_t *ret_inputs, struct error *err) {
    if (w->rank < 2 || w->dim[0] < 1 || shape_count(w) < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "a linear layer without weights");
    *ret_inputs = shape_count(w) / w->dim[0];
    *ret_rows = shape_count(x) / *ret_inputs;
    if (*ret_rows * *ret_inputs == shape_count(x))
        return 0;
    char x_text[SHAPE_TEXT_SIZE], w_text[SHAPE_TEXT_SIZE];
    return error_set(err, EXIT_CODE_INTERNAL, "weights %s do not fit input %s",
                     shape_text(w, w_text), shape_text(x, x_text));
}

int shape_linear(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *x = rule_input(graph, op, 0), *w = rule_input(graph, op, 1);
    enum dtype wide = dtype_wide(graph->dtype);
    int64_t rows = 0, inputs = 0;
    if (x == NULL || w == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "input 0 or 1 is missing");
    struct shape bias = shape_1(w->shape.dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &x->shape, err) != 0 ||
        rule_expect(graph, op, 1, wide, &w->shape, err) != 0 ||
        rule_expect(graph, op, 2, wide, &bias, err) != 0 ||
        linear_sizes(&x->shape, &w->shape, &rows, &inputs, err) != 0)
        return -1;
    if (op->attr.relu && !op->attr.activation)
        return error_set(err, EXIT_CODE_INTERNAL, "only activations can have a ReLU");
    return graph_set_output(graph, op, 0, op->attr.activation ? graph->dtype : wide,
                            shape_2(rows, bias.dim[0]), err);
}

int shape_linear_grad_data(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *w = rule_input(graph, op, 1);
    int64_t rows = 0, inputs = 0;
    if (w == NULL || linear_sizes(&op->attr.target, &w->shape, &rows, &inputs, err) != 0)
        return w == NULL ? error_set(err, EXIT_CODE_INTERNAL, "input 1 is missing") : -1;
    struct shape dy = shape_2(rows, w->shape.dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0 ||
        rule_expect(graph, op, 1, dtype_wide(graph->dtype), &w->shape, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, op->attr.target, err);
}

int shape_linear_grad_weight(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *x = rule_input(graph, op, 1);
    int64_t rows = 0, inputs = 0;
    if (x == NULL || linear_sizes(&x->shape, &op->attr.target, &rows, &inputs, err) != 0)
        return x == NULL ? error_set(err, EXIT_CODE_INTERNAL, "input 1 is missing") : -1;
    enum dtype wide = dtype_wide(graph->dtype);
    struct shape bias = shape_1(op->attr.target.dim[0]), dy = shape_2(rows, bias.dim[0]);
    if (rule_expect(graph, op, 0, graph->dtype, &dy, err) != 0 ||
        rule_expect(graph, op, 1, graph->dtype, &x->shape, err) != 0 ||
        graph_set_output(graph, op, 0, wide, op->attr.target, err) != 0)
        return -1;
    return graph_set_output(graph, op, 1, wide, bias, err);
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
