/* The builder functions of build.h: parameters with their names, and the first error kept.
 *
 * A model calls dozens of these in a row, and checks none of them. A failed call sets graph->failed
 * with its error; from then on every call returns TENSOR_NONE without looking at its arguments,
 * which may be TENSOR_NONE themselves. graph_finish reports the error once. So each function here
 * that reads a tensor must first see that nothing has failed.
 *
 * Operators are appended by the shape rules (rules/op_table.h), so a wrong shape is found at the
 * call that made it, with the name of the operator. Layers with weights are in build_layers.c. */
#include "trainer/graph/build/build.h"
#include "trainer/graph/build/builder.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/math/sample_key.h"

#include <stdio.h>
#include <string.h>

/* Adds a tensor that no operator makes. Names must be unique: the store, files of weights and
 * program_write find tensors by them. Returns its number, or TENSOR_NONE with the error kept. */
static int add_tensor(struct graph *graph, const char *name, enum dtype dtype, struct shape shape,
                      enum tensor_role role) {
    struct error err = {0};
    if (graph->failed)
        return TENSOR_NONE;
    if (graph_find(graph, name) != TENSOR_NONE) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "two tensors have the name %s", name);
        return builder_fail(graph, &err);
    }
    int tensor = graph_tensor(graph, name, dtype, shape, role, &err);
    return tensor == TENSOR_NONE ? builder_fail(graph, &err) : tensor;
}

/* Inputs are written before each step, by program_write or at program_address. */
int graph_input(struct graph *graph, const char *name, enum dtype dtype, struct shape shape) {
    return add_tensor(graph, name, dtype, shape, TENSOR_INPUT);
}

/* Parameters have the wide type even if activations are f16 or bf16: updates would be lost in the
 * short mantissa. INIT_FAN is for initializations that do not follow from the shape
 * (INIT_UNIFORM_BIAS). */
int graph_parameter(struct graph *graph, const char *name, struct shape shape,
                    enum tensor_init init, int64_t init_fan) {
    int tensor = add_tensor(graph, name, dtype_wide(graph->dtype), shape,
                            graph->frozen ? TENSOR_CONSTANT : TENSOR_PARAMETER);
    if (tensor != TENSOR_NONE) {
        graph->tensors[tensor].init = init;
        graph->tensors[tensor].init_fan = init_fan;
    }
    return tensor;
}

/* States are values that operators update and no optimizer does: running statistics. */
int graph_state(struct graph *graph, const char *name, struct shape shape, enum tensor_init init) {
    int tensor = add_tensor(graph, name, dtype_wide(graph->dtype), shape,
                            graph->frozen ? TENSOR_CONSTANT : TENSOR_STATE);
    if (tensor != TENSOR_NONE)
        graph->tensors[tensor].init = init;
    return tensor;
}

/* The layout must fit the rank now, as the file is read long after the model was described. */
void graph_file(struct graph *graph, int parameter, enum tensor_file file) {
    struct error err = {0};
    if (graph->failed)
        return;
    struct tensor *tensor = &graph->tensors[parameter];
    int rank = file == FILE_MATRIX ? 4 : file == FILE_PIXELWISE ? 2 : tensor->shape.rank;
    if (tensor->shape.rank != rank) {
        (void)error_set(&err, EXIT_CODE_INTERNAL,
                        "%s does not have the %d axes of this file layout", tensor->name, rank);
        (void)builder_fail(graph, &err);
        return;
    }
    tensor->file = file;
}

/* Applies to what is added from here on: a model freezes its stem and first stages, and thaws the
 * rest. Frozen parameters are constants, so the backward pass ends before them. */
void graph_freeze(struct graph *graph, bool frozen) {
    graph->frozen = frozen;
}

/* An output keeps its memory after the step, in the program's `kept` part; activations are
 * overwritten within it. A tensor can have only one such name. */
int graph_keep(struct graph *graph, int tensor, const char *name) {
    struct error err = {0};
    if (graph->failed)
        return TENSOR_NONE;
    if (graph_find(graph, name) != TENSOR_NONE) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "two tensors have the name %s", name);
        return builder_fail(graph, &err);
    }
    if (graph->tensors[tensor].role != TENSOR_ACTIVATION) {
        (void)error_set(
            &err, EXIT_CODE_INTERNAL,
            "%s cannot be kept as %s: it is not the result of an operator, or is kept already",
            graph->tensors[tensor].name, name);
        return builder_fail(graph, &err);
    }
    graph->tensors[tensor].role = TENSOR_OUTPUT;
    (void)snprintf(graph->tensors[tensor].name, TENSOR_NAME_SIZE, "%s", name);
    return tensor;
}

/* ROWS is read on the device at each step, so the number of rows need not be known to the host. */
void graph_rows(struct graph *graph, int rows) {
    struct error err = {0};
    struct shape one = shape_1(1);
    if (graph->failed)
        return;
    if (rows != TENSOR_NONE && (graph->tensors[rows].dtype != DTYPE_I32 ||
                                !shape_equal(&graph->tensors[rows].shape, &one))) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "%s is not a count of rows: expected i32 [1]",
                        graph->tensors[rows].name);
        (void)builder_fail(graph, &err);
        return;
    }
    graph->rows = rows;
}

/* The loss is found by its operator, not by its value: the backward pass starts with that
 * operator's gradient rule, which reads no gradient of its output. A kind without a rule could
 * start nothing. */
void graph_loss(struct graph *graph, int tensor) {
    struct error err = {0};
    if (graph->failed)
        return;
    int producer = graph->tensors[tensor].producer;
    if (producer < 0 || gradient_rule(graph->ops[producer].kind) == NULL)
        (void)error_set(&err, EXIT_CODE_INTERNAL, "%s is not a loss: its operator has no gradient",
                        graph->tensors[tensor].name);
    else if (graph->loss_count == GRAPH_LOSSES_MAX)
        (void)error_set(&err, EXIT_CODE_INTERNAL, "a graph has at most %d losses",
                        GRAPH_LOSSES_MAX);
    if (err.text[0] != '\0') {
        (void)builder_fail(graph, &err);
        return;
    }
    graph->losses[graph->loss_count++] = producer;
}

int graph_op(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
             const struct op_attr *attr) {
    return builder_append(graph, kind, name, inputs, attr);
}

/* All networks that classify have these inputs, so that the task can fill them by name. */
struct graph_samples graph_labelled_images(struct graph *graph, int64_t count, int64_t height,
                                           int64_t width) {
    struct graph_samples s;
    s.image = graph_input(graph, "image", DTYPE_U8, shape_4(count, height, width, 3));
    s.label = graph_input(graph, "label", DTYPE_I32, shape_1(count));
    s.weight = graph_input(graph, "weight", DTYPE_F32, shape_1(count));
    return s;
}

/* CHANNELS beyond 3 are padding with zeros, which the first convolution's weights do not read. */
int graph_image_normalize(struct graph *graph, int image, const float mean[3], const float std[3],
                          int channels) {
    struct op_attr attr = {.channels = channels};
    memcpy(attr.mean, mean, sizeof(attr.mean));
    memcpy(attr.std, std, sizeof(attr.std));
    return builder_op(graph, OP_IMAGE_NORMALIZE, "normalize", (int[]){image}, &attr);
}

/* KIND is one of the functions of math/pointwise.h; operators have no parameters, so the kind's own
 * name serves for messages. */
int graph_pointwise(struct graph *graph, enum op_kind kind, int x) {
    return builder_op(graph, kind, op_name(kind), (int[]){x}, NULL);
}

int graph_relu(struct graph *graph, int x) {
    return graph_pointwise(graph, OP_RELU, x);
}

int graph_add(struct graph *graph, int a, int b) {
    return builder_op(graph, OP_ADD, "add", (int[]){a, b}, NULL);
}

/* Empty slots follow the maps, as the operator has a fixed number of inputs. */
int graph_concat(struct graph *graph, const char *name, const int *maps, int count) {
    struct error err = {0};
    int inputs[CONCAT_INPUTS];
    if (count < 1 || count > CONCAT_INPUTS) {
        (void)error_set(&err, EXIT_CODE_INTERNAL, "%s: %d maps side by side: expected 1 to %d",
                        name, count, CONCAT_INPUTS);
        return builder_fail(graph, &err);
    }
    for (int i = 0; i < CONCAT_INPUTS; i++)
        inputs[i] = i < count ? maps[i] : TENSOR_NONE;
    return builder_op(graph, OP_CONCAT, name, inputs, NULL);
}

/* B has half the sides of A: the step from one level of a feature pyramid to the next. */
int graph_upsample_add(struct graph *graph, int a, int b) {
    return builder_op(graph, OP_UPSAMPLE_ADD, "upsample_add", (int[]){a, b}, NULL);
}

/* Keys make random numbers depend on the sample, and not on its place in a batch or on the rank
 * that has it. */
int graph_sample_keys(struct graph *graph, int64_t batch) {
    return graph_input(graph, "key", DTYPE_I32, shape_2(batch, SAMPLE_KEY_WORDS));
}

/* LAYER keeps the random numbers of several dropouts apart, as their keys are those of the
 * samples. */
int graph_dropout(struct graph *graph, int x, int key, double rate, int layer) {
    return builder_op(graph, OP_DROPOUT, "dropout", (int[]){x, key},
                      &(struct op_attr){.rate = rate, .layer = layer});
}

/* The second output, the positions of the maxima, is for the gradient; inference leaves it
 * unused. */
int graph_max_pool(struct graph *graph, int x, struct op_window window) {
    return builder_op(graph, OP_MAX_POOL, "max_pool", (int[]){x},
                      &(struct op_attr){.window = window});
}

int graph_avg_pool(struct graph *graph, int x, struct op_window window) {
    return builder_op(graph, OP_AVG_POOL, "avg_pool", (int[]){x},
                      &(struct op_attr){.window = window});
}

int graph_global_avg_pool(struct graph *graph, int x) {
    return builder_op(graph, OP_GLOBAL_AVG_POOL, "global_avg_pool", (int[]){x}, NULL);
}

/* The gradient is that of the mean over the slots of the batch, N, empty ones included: they have
 * weight 0. The scale is computed only if nothing has failed, as LOGITS may be TENSOR_NONE. */
int graph_softmax_cross_entropy_weighted(struct graph *graph, int logits, int labels, int weights,
                                         double label_smoothing, double share) {
    struct op_attr attr = {.label_smoothing = label_smoothing, .gradient_scale = share};
    if (!graph->failed)
        attr.gradient_scale = share / (double)graph->tensors[logits].shape.dim[0];
    int metrics = builder_op(graph, OP_SOFTMAX_CROSS_ENTROPY, "loss",
                             (int[]){logits, labels, weights}, &attr);
    graph_loss(graph, metrics);
    return metrics;
}

int graph_softmax_cross_entropy(struct graph *graph, int logits, int labels, int weights,
                                double label_smoothing) {
    return graph_softmax_cross_entropy_weighted(graph, logits, labels, weights, label_smoothing, 1);
}
