/* The builder functions of graph.h: parameters with their names, and the first error kept. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

static int fail(struct graph *graph, const struct error *err) {
    if (!graph->failed) {
        graph->failed = true;
        graph->error = *err;
    }
    return TENSOR_NONE;
}

static int add_tensor(struct graph *graph, const char *name, enum dtype dtype, struct shape shape,
                      enum tensor_role role) {
    struct error err = {0};
    if (graph->failed)
        return TENSOR_NONE;
    if (graph_find(graph, name) != TENSOR_NONE) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "two tensors are called %s", name);
        return fail(graph, &err);
    }
    int tensor = graph_tensor(graph, name, dtype, shape, role, &err);
    return tensor == TENSOR_NONE ? fail(graph, &err) : tensor;
}

/* Appends and returns output 0. */
static int add_op(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                  const struct op_attr *attr) {
    struct error err = {0};
    if (graph->failed)
        return TENSOR_NONE;
    int op = graph_append(graph, kind, name, inputs, attr, &err);
    return op < 0 ? fail(graph, &err) : graph->ops[op].outputs[0];
}

static const char *join(char text[TENSOR_NAME_SIZE], const char *name, const char *part) {
    (void)snprintf(text, TENSOR_NAME_SIZE, "%s.%s", name, part);
    return text;
}

/* The last dimension of TENSOR, the channels; 1 when the builder has failed. */
static int64_t channels_of(const struct graph *graph, int tensor) {
    if (graph->failed || tensor == TENSOR_NONE)
        return 1;
    const struct shape *shape = &graph->tensors[tensor].shape;
    return shape->dim[shape->rank - 1];
}

int graph_input(struct graph *graph, const char *name, enum dtype dtype, struct shape shape) {
    return add_tensor(graph, name, dtype, shape, TENSOR_INPUT);
}

int graph_parameter(struct graph *graph, const char *name, struct shape shape,
                    enum tensor_init init, int64_t init_fan) {
    int tensor = add_tensor(graph, name, dtype_wide(graph->dtype), shape, TENSOR_PARAMETER);
    if (tensor != TENSOR_NONE) {
        graph->tensors[tensor].init = init;
        graph->tensors[tensor].init_fan = init_fan;
    }
    return tensor;
}

int graph_state(struct graph *graph, const char *name, struct shape shape, enum tensor_init init) {
    int tensor = add_tensor(graph, name, dtype_wide(graph->dtype), shape, TENSOR_STATE);
    if (tensor != TENSOR_NONE)
        graph->tensors[tensor].init = init;
    return tensor;
}

int graph_keep(struct graph *graph, int tensor, const char *name) {
    struct error err = {0};
    if (graph->failed)
        return TENSOR_NONE;
    if (graph_find(graph, name) != TENSOR_NONE) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "two tensors are called %s", name);
        return fail(graph, &err);
    }
    if (graph->tensors[tensor].role != TENSOR_ACTIVATION) {
        (void)error_set(
            &err, EXIT_CODE_INTERNAL,
            "%s cannot be kept as %s: it is no result of an operator, or is kept already",
            graph->tensors[tensor].name, name);
        return fail(graph, &err);
    }
    graph->tensors[tensor].role = TENSOR_OUTPUT;
    (void)snprintf(graph->tensors[tensor].name, TENSOR_NAME_SIZE, "%s", name);
    return tensor;
}

void graph_rows(struct graph *graph, int rows) {
    struct error err = {0};
    struct shape one = shape_1(1);
    if (graph->failed)
        return;
    if (rows != TENSOR_NONE && (graph->tensors[rows].dtype != DTYPE_I32 ||
                                !shape_equal(&graph->tensors[rows].shape, &one))) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "%s is no count of rows: that is i32 [1]",
                        graph->tensors[rows].name);
        (void)fail(graph, &err);
        return;
    }
    graph->rows = rows;
}

void graph_loss(struct graph *graph, int tensor) {
    struct error err = {0};
    if (graph->failed)
        return;
    int producer = graph->tensors[tensor].producer;
    if (producer < 0 || op_rule(graph->ops[producer].kind)->gradient == NULL)
        (void)error_set(&err, EXIT_CODE_INTERNAL, "%s is no loss: its operator has no gradient",
                        graph->tensors[tensor].name);
    else if (graph->loss_count == GRAPH_LOSSES_MAX)
        (void)error_set(&err, EXIT_CODE_INTERNAL, "a graph has at most %d losses",
                        GRAPH_LOSSES_MAX);
    if (err.text[0] != '\0') {
        (void)fail(graph, &err);
        return;
    }
    graph->losses[graph->loss_count++] = producer;
}

int graph_image_normalize(struct graph *graph, int image, const float mean[3], const float std[3],
                          int channels) {
    struct op_attr attr = {.channels = channels};
    memcpy(attr.mean, mean, sizeof(attr.mean));
    memcpy(attr.std, std, sizeof(attr.std));
    return add_op(graph, OP_IMAGE_NORMALIZE, "normalize", (int[]){image}, &attr);
}

int graph_conv2d(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                 struct op_window window) {
    char text[TENSOR_NAME_SIZE];
    struct shape shape = shape_4(outputs, window.kernel, window.kernel, inputs);
    int weight = graph_parameter(graph, join(text, name, "weight"), shape, INIT_NORMAL_FAN_OUT, 0);
    struct op_attr attr = {.window = window};
    return add_op(graph, OP_CONV2D, name, (int[]){x, weight}, &attr);
}

int graph_batch_norm(struct graph *graph, const char *name, int x, struct norm_options options) {
    char text[TENSOR_NAME_SIZE];
    struct shape shape = shape_1(channels_of(graph, x));
    int slots[NORM_INPUTS];
    for (int i = 0; i < NORM_INPUTS; i++)
        slots[i] = TENSOR_NONE;
    slots[NORM_X] = x;
    slots[NORM_GAMMA] = graph_parameter(graph, join(text, name, "weight"), shape, options.gamma, 0);
    slots[NORM_BETA] = graph_parameter(graph, join(text, name, "bias"), shape, INIT_ZERO, 0);
    slots[NORM_MEAN] = graph_state(graph, join(text, name, "running_mean"), shape, INIT_ZERO);
    slots[NORM_VARIANCE] = graph_state(graph, join(text, name, "running_var"), shape, INIT_ONE);
    struct op_attr attr = {.epsilon = options.epsilon, .momentum = options.momentum};
    return add_op(graph, graph->training ? OP_BATCH_NORM : OP_BATCH_NORM_INFERENCE, name, slots,
                  &attr);
}

int graph_relu(struct graph *graph, int x) {
    return add_op(graph, OP_RELU, "relu", (int[]){x}, NULL);
}

int graph_add(struct graph *graph, int a, int b) {
    return add_op(graph, OP_ADD, "add", (int[]){a, b}, NULL);
}

int graph_max_pool(struct graph *graph, int x, struct op_window window) {
    return add_op(graph, OP_MAX_POOL, "max_pool", (int[]){x}, &(struct op_attr){.window = window});
}

int graph_global_avg_pool(struct graph *graph, int x) {
    return add_op(graph, OP_GLOBAL_AVG_POOL, "global_avg_pool", (int[]){x}, NULL);
}

int graph_linear(struct graph *graph, const char *name, int x, int64_t outputs) {
    char text[TENSOR_NAME_SIZE];
    int64_t inputs = channels_of(graph, x);
    int weight = graph_parameter(graph, join(text, name, "weight"), shape_2(outputs, inputs),
                                 INIT_UNIFORM_FAN_IN, 0);
    int bias = graph_parameter(graph, join(text, name, "bias"), shape_1(outputs), INIT_UNIFORM_BIAS,
                               inputs);
    return add_op(graph, OP_LINEAR, name, (int[]){x, weight, bias}, NULL);
}

int graph_softmax_cross_entropy(struct graph *graph, int logits, int labels, int weights,
                                double label_smoothing) {
    struct op_attr attr = {.label_smoothing = label_smoothing, .gradient_scale = 1};
    if (!graph->failed)
        attr.gradient_scale = 1.0 / (double)graph->tensors[logits].shape.dim[0];
    int metrics =
        add_op(graph, OP_SOFTMAX_CROSS_ENTROPY, "loss", (int[]){logits, labels, weights}, &attr);
    graph_loss(graph, metrics);
    return metrics;
}
