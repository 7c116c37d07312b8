#include "trainer/graph/rules/rules.h"
#include "trainer/math/sample_key.h"

#include <inttypes.h>

/* Shape rules of elementwise operators, linear layers and classification's loss: what ops_dense.def
 * says in words, checked and computed.
 *
 * A rule checks the inputs of its operator, sets the shape and type of its outputs
 * (graph_set_output), and changes nothing else. It returns -1 with an error that names the input;
 * graph_append adds the operator's name. Errors here are EXIT_CODE_INTERNAL: they are faults of a
 * model's description or of a gradient rule, and not of a user.
 *
 * Activations have the type of the graph. Weights, biases and what is summed over many values have
 * the wide type, f32 or f64. Rules for convolutions and pools are in shape_conv.c, for norms in
 * shape_norm.c. */

/* Fails unless input 0 is an activation, of whatever shape. */
static int expect_activation(const struct graph *graph, const struct op *op, struct error *err) {
    const struct tensor *x = rule_input(graph, op, 0);
    if (x == NULL || x->dtype != graph->dtype)
        return error_set(err, EXIT_CODE_INTERNAL, "input 0 is not an activation");
    return 0;
}

/* The output is like input 0: pointwise functions and others that keep a shape. */
int shape_activation(struct graph *graph, struct op *op, struct error *err) {
    if (expect_activation(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, rule_input(graph, op, 0)->shape, err);
}

/* Both inputs are alike, and so is the output. Gradients of wide tensors, such as weights used
 * twice, are summed by the same operator as activations, so two types are allowed. */
int shape_pair(struct graph *graph, struct op *op, struct error *err) {
    const struct tensor *a = rule_input(graph, op, 0);
    if (a == NULL || rule_expect(graph, op, 1, a->dtype, &a->shape, err) != 0)
        return a == NULL ? error_set(err, EXIT_CODE_INTERNAL, "input 0 is missing") : -1;
    if (a->dtype != graph->dtype && a->dtype != dtype_wide(graph->dtype))
        return error_set(err, EXIT_CODE_INTERNAL, "sums of %s do not occur in this graph",
                         dtype_name(a->dtype));
    return graph_set_output(graph, op, 0, a->dtype, a->shape, err);
}

/* One bias for each channel, which is the last dimension, whatever the rank. With or without a ReLU
 * the shape is the same. */
int shape_bias(struct graph *graph, struct op *op, struct error *err) {
    if (shape_activation(graph, op, err) != 0)
        return -1;
    const struct shape *x = &rule_input(graph, op, 0)->shape;
    struct shape bias = shape_1(x->dim[x->rank - 1]);
    return rule_expect(graph, op, 1, dtype_wide(graph->dtype), &bias, err);
}

/* Sums over all but the channels, hence the wide type. */
int shape_bias_grad(struct graph *graph, struct op *op, struct error *err) {
    if (expect_activation(graph, op, err) != 0)
        return -1;
    const struct shape *dy = &rule_input(graph, op, 0)->shape;
    struct shape bias = shape_1(dy->dim[dy->rank - 1]);
    return graph_set_output(graph, op, 0, dtype_wide(graph->dtype), bias, err);
}

/* Returns true if A and B have the same dimensions but for the last one, the channels. */
static bool has_pixels_of(const struct shape *a, const struct shape *b) {
    struct shape same = *b;
    if (a->rank == b->rank)
        same.dim[same.rank - 1] = a->dim[a->rank - 1];
    return shape_equal(a, &same);
}

/* Channels add up. The inputs that are used come first, as many as there are; one after a gap would
 * be a fault of the caller. */
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

/* attr.target is the shape of the part that is taken; it must lie within the channels of x. */
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

/* One key for each sample, the first dimension. A rate of 1 would divide by zero. */
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

/* Input 1 decides: input 0 must have exactly twice its sides, so an odd side has no counterpart. */
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

/* The reverse of it: each cell of the output sums a square of four. The gradient's sides are even
 * because those of the sum were. */
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

/* Computes the rows N and the inputs I of a linear layer from the shapes of X and W. W has O rows
 * of whatever rank; X is divided into rows of as many values as one of them has. So a map is
 * flattened without an operator, and a list of pixels is a batch of rows. */
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

/* Logits have the wide type, since a loss reads them; hidden layers have the graph's, and only
 * these can have a ReLU. The rows of y are those of linear_sizes, whatever the rank of x. */
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

/* attr.target is x's shape, from which N follows: dy alone does not tell how x was divided. */
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

/* attr.target is w's shape. The second output is the gradient of the bias, the sum of the same
 * rows. */
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

/* Logits [N, classes], labels and weights [N]: a label and a weight for each sample. */
static int expect_loss_inputs(const struct graph *graph, const struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, 0, dtype_wide(graph->dtype), 2, err) != 0)
        return -1;
    struct shape samples = shape_1(rule_input(graph, op, 0)->shape.dim[0]);
    if (rule_expect(graph, op, 1, DTYPE_I32, &samples, err) != 0)
        return -1;
    return rule_expect(graph, op, 2, DTYPE_F32, &samples, err);
}

/* The operator gives sums for metrics (enum loss_metric), not one value: the loss is among them. */
int shape_loss(struct graph *graph, struct op *op, struct error *err) {
    if (expect_loss_inputs(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, dtype_wide(graph->dtype), shape_1(LOSS_METRICS), err);
}

/* The gradient has the type of activations: it goes into the layers below. */
int shape_loss_grad(struct graph *graph, struct op *op, struct error *err) {
    if (expect_loss_inputs(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, rule_input(graph, op, 0)->shape, err);
}
