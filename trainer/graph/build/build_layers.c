/* Builder functions of layers with weights: weights are made once, then used by one or more
 * operators.
 *
 * Each layer has three functions. One makes the weights, one (_with) applies given weights to a
 * tensor, and one does both for the usual case. A head of a detector makes its weights once and
 * applies them to all levels of a pyramid; their gradients are then summed (gradients_send).
 *
 * Names and initializations are those of torchvision's layers, so that a model's description lists
 * the names of its files. A default that a model departs from is an argument. */
#include "trainer/graph/build/build.h"
#include "trainer/graph/build/builder.h"

/* Weights of a layer that has none of a kind. */
static const struct graph_weights none = {TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE};

/* Weights are [O, KH, KW, I]; in groups I is that of one group. The name is copied, so the text may
 * end with the function. */
struct graph_weights graph_conv2d_window_weights(struct graph *graph, const char *name,
                                                 int64_t inputs, int64_t outputs,
                                                 const struct op_window *window) {
    char text[TENSOR_NAME_SIZE];
    struct graph_weights w = none;
    const struct shape shape =
        shape_4(outputs, op_window_kernel(window, 0), op_window_kernel(window, 1),
                inputs / op_window_groups(window));
    w.weight =
        graph_parameter(graph, builder_join(text, name, "weight"), shape, INIT_NORMAL_FAN_OUT, 0);
    return w;
}

struct graph_weights graph_conv2d_weights(struct graph *graph, const char *name, int64_t inputs,
                                          int64_t outputs, int kernel) {
    return graph_conv2d_window_weights(graph, name, inputs, outputs,
                                       &(struct op_window){.kernel = kernel});
}

/* The number of inputs is not passed: the weights have it, and the shape rule compares. */
int graph_conv2d_with(struct graph *graph, const char *name, int x,
                      const struct graph_weights *weights, struct op_window window) {
    struct op_attr attr = {.window = window};
    return builder_op(graph, OP_CONV2D, name, (int[]){x, weights->weight}, &attr);
}

int graph_conv2d(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                 struct op_window window) {
    struct graph_weights w = graph_conv2d_window_weights(graph, name, inputs, outputs, &window);
    return graph_conv2d_with(graph, name, x, &w, window);
}

/* A bias of its own, for a layer that has its weights already. */
int graph_bias_parameter(struct graph *graph, const char *name, int64_t channels,
                         enum tensor_init init, int64_t init_fan) {
    char text[TENSOR_NAME_SIZE];
    return graph_parameter(graph, builder_join(text, name, "bias"), shape_1(channels), init,
                           init_fan);
}

int graph_bias(struct graph *graph, const char *name, int x, int bias, bool relu) {
    struct op_attr attr = {.relu = relu};
    return builder_op(graph, OP_BIAS, name, (int[]){x, bias}, &attr);
}

/* Two operators, as a bias is not part of a convolution here; fusion joins them where it can. */
int graph_conv2d_bias_with(struct graph *graph, const char *name, int x,
                           const struct graph_weights *weights, struct op_window window,
                           bool relu) {
    int y = graph_conv2d_with(graph, name, x, weights, window);
    return graph_bias(graph, name, y, weights->bias, relu);
}

int graph_conv2d_bias(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                      struct op_window window, bool relu) {
    struct graph_weights w = graph_conv2d_window_weights(graph, name, inputs, outputs, &window);
    w.bias = graph_bias_parameter(graph, name, outputs, INIT_ZERO, 0);
    return graph_conv2d_bias_with(graph, name, x, &w, window, relu);
}

int graph_conv_transpose2d(struct graph *graph, const char *name, int x, int64_t inputs,
                           int64_t outputs, struct op_window window, bool relu) {
    /* The rows of its weights are the channels of its input: the weights are those of the
     * convolution that it is the gradient of. Forward, it runs that convolution's data gradient. */
    struct graph_weights w = graph_conv2d_weights(graph, name, outputs, inputs, window.kernel);
    w.bias = graph_bias_parameter(graph, name, outputs, INIT_UNIFORM_BIAS,
                                  outputs * window.kernel * window.kernel);
    struct op_attr attr = {.window = window};
    if (!graph->failed) {
        const struct shape *in = &graph->tensors[x].shape;
        attr.target =
            shape_4(in->dim[0], in->dim[1] * window.stride, in->dim[2] * window.stride, outputs);
    }
    int y = builder_op(graph, OP_CONV2D_GRAD_DATA, name, (int[]){x, w.weight}, &attr);
    return graph_bias(graph, name, y, w.bias, relu);
}

/* gamma and beta are trained, mean and variance are states; frozen, all four are constants. GAMMA
 * may start at zero, which makes a residual block start as an identity. */
struct graph_weights graph_norm_weights(struct graph *graph, const char *name, int64_t channels,
                                        enum tensor_init gamma) {
    char text[TENSOR_NAME_SIZE];
    struct shape shape = shape_1(channels);
    struct graph_weights w = none;
    w.weight = graph_parameter(graph, builder_join(text, name, "weight"), shape, gamma, 0);
    w.bias = graph_parameter(graph, builder_join(text, name, "bias"), shape, INIT_ZERO, 0);
    w.mean = graph_state(graph, builder_join(text, name, "running_mean"), shape, INIT_ZERO);
    w.variance = graph_state(graph, builder_join(text, name, "running_var"), shape, INIT_ONE);
    return w;
}

/* Batch statistics are used in training alone, and running ones elsewhere and in frozen parts.
 * Slots of a second norm stay empty: only fusion fills them. */
int graph_batch_norm_with(struct graph *graph, const char *name, int x,
                          const struct graph_weights *weights, struct norm_options options) {
    int slots[NORM_INPUTS];
    for (int i = 0; i < NORM_INPUTS; i++)
        slots[i] = TENSOR_NONE;
    slots[NORM_X] = x;
    slots[NORM_GAMMA] = weights->weight;
    slots[NORM_BETA] = weights->bias;
    slots[NORM_MEAN] = weights->mean;
    slots[NORM_VARIANCE] = weights->variance;
    struct op_attr attr = {.epsilon = options.epsilon, .momentum = options.momentum};
    bool batch = graph->training && !graph->frozen;
    return builder_op(graph, batch ? OP_BATCH_NORM : OP_BATCH_NORM_INFERENCE, name, slots, &attr);
}

int graph_batch_norm(struct graph *graph, const char *name, int x, struct norm_options options) {
    struct graph_weights w =
        graph_norm_weights(graph, name, builder_channels(graph, x), options.gamma);
    return graph_batch_norm_with(graph, name, x, &w, options);
}

/* torch's default: weights and bias uniform, bounded by the inverse square root of the inputs,
 * which the bias must be given, as its shape does not have them. */
struct graph_weights graph_linear_weights(struct graph *graph, const char *name, int64_t inputs,
                                          int64_t outputs) {
    char text[TENSOR_NAME_SIZE];
    struct graph_weights w = none;
    w.weight = graph_parameter(graph, builder_join(text, name, "weight"), shape_2(outputs, inputs),
                               INIT_UNIFORM_FAN_IN, 0);
    w.bias = graph_parameter(graph, builder_join(text, name, "bias"), shape_1(outputs),
                             INIT_UNIFORM_BIAS, inputs);
    return w;
}

/* Weights have the axes of the map in memory, channels last; the file's matrix has them in torch's
 * order of flattening, channels first. FILE_MATRIX converts at loading and saving. */
struct graph_weights graph_linear_map_weights(struct graph *graph, const char *name, int64_t side,
                                              int64_t channels, int64_t outputs) {
    char text[TENSOR_NAME_SIZE];
    struct graph_weights w = none;
    w.weight = graph_parameter(graph, builder_join(text, name, "weight"),
                               shape_4(outputs, side, side, channels), INIT_UNIFORM_FAN_IN, 0);
    graph_file(graph, w.weight, FILE_MATRIX);
    w.bias = graph_parameter(graph, builder_join(text, name, "bias"), shape_1(outputs),
                             INIT_UNIFORM_BIAS, side * side * channels);
    return w;
}

/* Makes logits: the result has the wide type, for a loss. */
int graph_linear_with(struct graph *graph, const char *name, int x,
                      const struct graph_weights *weights) {
    return builder_op(graph, OP_LINEAR, name, (int[]){x, weights->weight, weights->bias}, NULL);
}

/* Inputs are the channels of x, which a flattened or pooled map has left. */
int graph_linear(struct graph *graph, const char *name, int x, int64_t outputs) {
    struct graph_weights w = graph_linear_weights(graph, name, builder_channels(graph, x), outputs);
    return graph_linear_with(graph, name, x, &w);
}

/* Unlike logits, the result has the activation type, since another layer reads it. */
int graph_linear_hidden_with(struct graph *graph, const char *name, int x,
                             const struct graph_weights *weights, bool relu) {
    struct op_attr attr = {.activation = true, .relu = relu};
    return builder_op(graph, OP_LINEAR, name, (int[]){x, weights->weight, weights->bias}, &attr);
}
