#include "trainer/export/onnx_nodes.h"

#include "common/binary/protobuf.h"
#include "common/cleanup.h"
#include "trainer/export/onnx_fields.h"

#include <stdio.h>
#include <string.h>

/* Each operator of the graph becomes up to five nodes; `ROWS` at the end has the function for each
 * kind. The graph is the one that a model describes, before fusion, so there are only plain
 * operators.
 *
 * Values are connected by names. A weight has its own, any other tensor "value_N"
 * (onnx_value_name). Where an operator becomes several nodes, the values between them have the name
 * of its output with a suffix, so that names are unique without a table.
 *
 * Shapes are not written for values between nodes: readers infer them. Axes differ: the graph has
 * channels last, ONNX has them second. No node transposes for that, except at a u8 input, as each
 * operator means the same in either order; what names an axis gives ONNX's number. */

/* Bytes of a node and of a constant, and inputs of an operator, at most. */
enum { NODE_MAX = 64 * 1024, NODE_INPUTS_MAX = 6, CONSTANT_MAX = 4096 };

/* Names of weights are those of the model's file, so that tools can match the two. */
void onnx_value_name(const struct graph *graph, int tensor, char ret[ONNX_NAME_SIZE]) {
    const struct tensor *t = &graph->tensors[tensor];
    switch (t->role) {
    case TENSOR_OUTPUT:
    case TENSOR_PARAMETER:
    case TENSOR_STATE:
    case TENSOR_CONSTANT:
        (void)snprintf(ret, ONNX_NAME_SIZE, "%s", t->name);
        break;
    default:
        (void)snprintf(ret, ONNX_NAME_SIZE, "value_%d", tensor);
    }
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Begins an AttributeProto with its name and type; the value follows. A is to be freed in any
 * case. */
static int begin_attribute(struct buf *a, const char *name, enum onnx_attribute_type type,
                           struct error *err) {
    buf_init(a, NODE_MAX);
    return protobuf_add_text(a, ONNX_ATTRIBUTE_NAME, name, err) != 0
               ? -1
               : protobuf_add_varint(a, ONNX_ATTRIBUTE_TYPE, type, err);
}

static int add_int(struct buf *node, const char *name, int value, struct error *err) {
    cleanup_buf struct buf a;
    return begin_attribute(&a, name, ONNX_TYPE_INT, err) != 0 ||
                   protobuf_add_varint(&a, ONNX_ATTRIBUTE_I, (uint64_t)value, err) != 0
               ? -1
               : protobuf_add_message(node, ONNX_NODE_ATTRIBUTE, &a, err);
}

static int add_float(struct buf *node, const char *name, double value, struct error *err) {
    cleanup_buf struct buf a;
    return begin_attribute(&a, name, ONNX_TYPE_FLOAT, err) != 0 ||
                   protobuf_add_float(&a, ONNX_ATTRIBUTE_F, (float)value, err) != 0
               ? -1
               : protobuf_add_message(node, ONNX_NODE_ATTRIBUTE, &a, err);
}

static int add_ints(struct buf *node, const char *name, const int *values, int count,
                    struct error *err) {
    cleanup_buf struct buf a;
    if (begin_attribute(&a, name, ONNX_TYPE_INTS, err) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (protobuf_add_varint(&a, ONNX_ATTRIBUTE_INTS, (uint64_t)values[i], err) != 0)
            return -1;
    return protobuf_add_message(node, ONNX_NODE_ATTRIBUTE, &a, err);
}

/* Appends the attributes of a sliding window. ONNX has the pads of all axes at their begin, then
 * those of all axes at their end; here both ends are alike. */
static int add_window(struct buf *node, const struct op_window *w, struct error *err) {
    const int kernel[] = {op_window_kernel(w, 0), op_window_kernel(w, 1)};
    const int pad[] = {op_window_pad(w, 0), op_window_pad(w, 1)};
    const int pads[] = {pad[0], pad[1], pad[0], pad[1]}, strides[] = {w->stride, w->stride};
    if (op_window_groups(w) > 1 && add_int(node, "group", w->groups, err) != 0)
        return -1;
    return add_ints(node, "kernel_shape", kernel, 2, err) != 0 ||
                   add_ints(node, "strides", strides, 2, err) != 0 ||
                   add_ints(node, "pads", pads, 4, err) != 0
               ? -1
               : 0;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Begins a node; INPUTS ends with NULL. Attributes may follow, and then end_node. Nodes are
 * numbered in the order of the graph, which is one in which each value is made before it is
 * read. */
static int begin_node(struct onnx_nodes *n, struct buf *node, const char *type,
                      const char *const *inputs, const char *output, struct error *err) {
    char name[32];
    (void)snprintf(name, sizeof(name), "node_%d", n->count++);
    buf_init(node, NODE_MAX);
    for (int i = 0; inputs[i] != NULL; i++)
        if (protobuf_add_text(node, ONNX_NODE_INPUT, inputs[i], err) != 0)
            return -1;
    return protobuf_add_text(node, ONNX_NODE_OUTPUT, output, err) != 0 ||
                   protobuf_add_text(node, ONNX_NODE_NAME, name, err) != 0 ||
                   protobuf_add_text(node, ONNX_NODE_OP_TYPE, type, err) != 0
               ? -1
               : 0;
}

/* Puts NODE, with the attributes that it has by now, into the graph. */
static int end_node(struct onnx_nodes *n, const struct buf *node, struct error *err) {
    return protobuf_add_message(n->out, ONNX_GRAPH_NODE, node, err);
}

/* Appends a node without attributes; INPUTS ends with NULL. */
static int add_plain(struct onnx_nodes *n, const char *type, const char *const *inputs,
                     const char *output, struct error *err) {
    cleanup_buf struct buf node;
    return begin_node(n, &node, type, inputs, output, err) != 0 ? -1 : end_node(n, &node, err);
}

/* Keeps the batch and joins all other axes. By then those of the picture have one element, or the
 * weights are in the order that this makes (FILE_MATRIX). */
static int add_flatten(struct onnx_nodes *n, const char *input, const char *output,
                       struct error *err) {
    cleanup_buf struct buf node;
    return begin_node(n, &node, "Flatten", (const char *const[]){input, NULL}, output, err) != 0 ||
                   add_int(&node, "axis", 1, err) != 0
               ? -1
               : end_node(n, &node, err);
}

/* Names of an operator's tensors. `between` is for the value before a ReLU that the operator ends
 * with. */
struct names {
    char inputs[NODE_INPUTS_MAX][ONNX_NAME_SIZE];
    const char *list[NODE_INPUTS_MAX + 1]; /* of the first `count` inputs, then NULL */
    char output[ONNX_NAME_SIZE], between[ONNX_NAME_SIZE + 8];
};

/* Fills RET with the names of the first COUNT inputs and of the output, and marks the inputs as
 * used. */
static void name_all(struct onnx_nodes *n, const struct op *op, int count, struct names *ret) {
    for (int i = 0; i < count; i++) {
        onnx_value_name(n->graph, op->inputs[i], ret->inputs[i]);
        ret->list[i] = ret->inputs[i];
        n->used[op->inputs[i]] = true;
    }
    ret->list[count] = NULL;
    onnx_value_name(n->graph, op->outputs[0], ret->output);
    (void)snprintf(ret->between, sizeof(ret->between), "%s_before", ret->output);
}

/* Ends with a ReLU, if the operator has one, what was put into names.between. `target` has the name
 * that the node before it writes to. */
static int add_relu(struct onnx_nodes *n, const struct names *names, bool relu, struct error *err) {
    return relu ? add_plain(n, "Relu", (const char *const[]){names->between, NULL}, names->output,
                            err)
                : 0;
}

static const char *target(const struct names *names, bool relu) {
    return relu ? names->between : names->output;
}

/* Appends COUNT f32 under NAME to OUT, the fields of a GraphProto, as an initializer. DIMS 0: a
 * scalar; 4: shape [1, COUNT, 1, 1]. */
static int add_constant(struct buf *out, const char *name, const float *values, int count, int dims,
                        struct error *err) {
    cleanup_buf struct buf tensor;
    buf_init(&tensor, CONSTANT_MAX);
    /* Axis 1 has the channels. */
    for (int i = 0; i < dims; i++)
        if (protobuf_add_varint(&tensor, ONNX_TENSOR_DIMS, i == 1 ? (uint64_t)count : 1, err) != 0)
            return -1;
    return protobuf_add_varint(&tensor, ONNX_TENSOR_DATA_TYPE, ONNX_F32, err) != 0 ||
                   protobuf_add_text(&tensor, ONNX_TENSOR_NAME, name, err) != 0 ||
                   protobuf_add_bytes(&tensor, ONNX_TENSOR_RAW_DATA, values,
                                      (size_t)count * sizeof(*values), err) != 0
               ? -1
               : protobuf_add_message(out, ONNX_GRAPH_INITIALIZER, &tensor, err);
}

/* A u8 input is cast, transposed to channels first, and normalized in steps as the operator does:
 * divided by 255, minus the mean, over the deviation. An f32 input comes normalized, and is only
 * renamed. */
static int add_normalize(struct onnx_nodes *n, const struct op *op, struct error *err) {
    static const char *const steps[] = {"image_f32", "image_nchw", "image_unit", "image_centered"};
    struct names names;
    const float full = 255;
    float mean[3], std[3];
    name_all(n, op, 0, &names);
    if (!n->bytes)
        return add_plain(n, "Identity", (const char *const[]){ONNX_INPUT, NULL}, names.output, err);
    /* These three are scalars and vectors of the graph's own, not weights of the model, so they
     * have names that no weight has. */
    memcpy(mean, op->attr.mean, sizeof(mean));
    memcpy(std, op->attr.std, sizeof(std));
    cleanup_buf struct buf cast = {0};
    cleanup_buf struct buf transpose = {0};
    if (add_constant(n->out, "image_full", &full, 1, 0, err) != 0 ||
        add_constant(n->out, "image_mean", mean, 3, 4, err) != 0 ||
        add_constant(n->out, "image_std", std, 3, 4, err) != 0 ||
        begin_node(n, &cast, "Cast", (const char *const[]){ONNX_IMAGE, NULL}, steps[0], err) != 0 ||
        add_int(&cast, "to", ONNX_F32, err) != 0 || end_node(n, &cast, err) != 0 ||
        begin_node(n, &transpose, "Transpose", (const char *const[]){steps[0], NULL}, steps[1],
                   err) != 0 ||
        add_ints(&transpose, "perm", (const int[]){0, 3, 1, 2}, 4, err) != 0 ||
        end_node(n, &transpose, err) != 0)
        return -1;
    return add_plain(n, "Div", (const char *const[]){steps[1], "image_full", NULL}, steps[2],
                     err) != 0 ||
                   add_plain(n, "Sub", (const char *const[]){steps[2], "image_mean", NULL},
                             steps[3], err) != 0
               ? -1
               : add_plain(n, "Div", (const char *const[]){steps[3], "image_std", NULL},
                           names.output, err);
}

/* Returns the operator that adds a bias to what the convolution OP makes, right after it; NULL:
 * none does. add_bias refuses one that stands elsewhere. */
static const struct op *bias_after(const struct onnx_nodes *n, const struct op *op) {
    const struct op *next = op + 1;
    return next < n->graph->ops + n->graph->op_count && next->kind == OP_BIAS &&
                   next->inputs[0] == op->outputs[0]
               ? next
               : NULL;
}

/* Makes a Conv of a convolution and the bias after it, if there is one: the bias is the third input
 * of the node, and its ReLU a node of its own. add_bias then has nothing left to do. */
static int add_conv(struct onnx_nodes *n, const struct op *op, struct error *err) {
    const struct op *bias = bias_after(n, op);
    struct names names, after;
    cleanup_buf struct buf node = {0};
    name_all(n, op, 2, &names);
    if (bias == NULL)
        return begin_node(n, &node, "Conv", names.list, names.output, err) != 0 ||
                       add_window(&node, &op->attr.window, err) != 0
                   ? -1
                   : end_node(n, &node, err);
    name_all(n, bias, 2, &after);
    const char *const inputs[] = {names.inputs[0], names.inputs[1], after.inputs[1], NULL};
    return begin_node(n, &node, "Conv", inputs, target(&after, bias->attr.relu), err) != 0 ||
                   add_window(&node, &op->attr.window, err) != 0 || end_node(n, &node, err) != 0
               ? -1
               : add_relu(n, &after, bias->attr.relu, err);
}

/* Nothing is left to do for the bias of a convolution. */
static int add_bias(struct onnx_nodes *n, const struct op *op, struct error *err) {
    const bool first = op == n->graph->ops;
    return !first && op[-1].kind == OP_CONV2D && bias_after(n, op - 1) == op
               ? 0
               : error_set(err, EXIT_CODE_INTERNAL, "%s: a bias without a convolution", op->name);
}

/* The running statistics are inputs, in the order of ONNX: scale, bias, mean, variance. Forms with
 * a ReLU or a sum arise by fusion alone. */
static int add_norm(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    cleanup_buf struct buf node = {0};
    if (op->attr.form != NORM_PLAIN)
        return error_set(err, EXIT_CODE_INTERNAL, "a norm that was fused");
    name_all(n, op, NORM_VARIANCE + 1, &names);
    return begin_node(n, &node, "BatchNormalization", names.list, names.output, err) != 0 ||
                   add_float(&node, "epsilon", op->attr.epsilon, err) != 0
               ? -1
               : end_node(n, &node, err);
}

/* The output of the positions of maxima is for training alone, and is not asked for. */
static int add_pool(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    cleanup_buf struct buf node = {0};
    name_all(n, op, 1, &names);
    return begin_node(n, &node, "MaxPool", names.list, names.output, err) != 0 ||
                   add_window(&node, &op->attr.window, err) != 0
               ? -1
               : end_node(n, &node, err);
}

/* Padding counts as zeros in the mean, as in this graph; ONNX leaves it out by default. */
static int add_window_average(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    cleanup_buf struct buf node = {0};
    name_all(n, op, 1, &names);
    return begin_node(n, &node, "AveragePool", names.list, names.output, err) != 0 ||
                   add_window(&node, &op->attr.window, err) != 0 ||
                   add_int(&node, "count_include_pad", 1, err) != 0
               ? -1
               : end_node(n, &node, err);
}

/* The mean over the picture leaves height and width as axes of 1 in ONNX; the graph has none. */
static int add_average(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    name_all(n, op, 1, &names);
    return add_plain(n, "GlobalAveragePool", names.list, names.between, err) != 0
               ? -1
               : add_flatten(n, names.between, names.output, err);
}

/* Gemm takes the weights transposed: [outputs, inputs], as they are in the file. An input with axes
 * of a picture is flattened first. */
static int add_linear(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    char flat[ONNX_NAME_SIZE + 8];
    cleanup_buf struct buf node = {0};
    name_all(n, op, 3, &names);
    (void)snprintf(flat, sizeof(flat), "%s_flat", names.output);
    if (n->graph->tensors[op->inputs[0]].shape.rank > 2) {
        if (add_flatten(n, names.inputs[0], flat, err) != 0)
            return -1;
        names.list[0] = flat;
    }
    return begin_node(n, &node, "Gemm", names.list, target(&names, op->attr.relu), err) != 0 ||
                   add_int(&node, "transB", 1, err) != 0 || end_node(n, &node, err) != 0
               ? -1
               : add_relu(n, &names, op->attr.relu, err);
}

/* A ReLU of its own; those that are part of another operator are made by add_relu. */
static int add_rectified(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    name_all(n, op, 1, &names);
    return add_plain(n, "Relu", names.list, names.output, err);
}

/* Both inputs have one shape: ONNX's broadcasting is not used. */
static int add_sum(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    name_all(n, op, 2, &names);
    return add_plain(n, "Add", names.list, names.output, err);
}

/* Joins along the channels, axis 1. */
static int add_concat(struct onnx_nodes *n, const struct op *op, struct error *err) {
    struct names names;
    cleanup_buf struct buf node = {0};
    int count = 0;
    while (count < CONCAT_INPUTS && op->inputs[count] != TENSOR_NONE)
        count++;
    name_all(n, op, count, &names);
    return begin_node(n, &node, "Concat", names.list, names.output, err) != 0 ||
                   add_int(&node, "axis", 1, err) != 0
               ? -1
               : end_node(n, &node, err);
}

/* Kinds that a network for classification has in an evaluation. Order does not matter. */
static const struct {
    enum op_kind kind;
    int (*add)(struct onnx_nodes *n, const struct op *op, struct error *err);
} ROWS[] = {
    {OP_IMAGE_NORMALIZE, add_normalize},
    {OP_CONV2D, add_conv},
    {OP_BIAS, add_bias},
    {OP_BATCH_NORM_INFERENCE, add_norm},
    {OP_RELU, add_rectified},
    {OP_ADD, add_sum},
    {OP_CONCAT, add_concat},
    {OP_MAX_POOL, add_pool},
    {OP_AVG_POOL, add_window_average},
    {OP_GLOBAL_AVG_POOL, add_average},
    {OP_LINEAR, add_linear},
};

/* Fails for an operator without a row, by name: a network for detection has many. */
static int add_op(struct onnx_nodes *n, const struct op *op, struct error *err) {
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
        if (ROWS[i].kind == op->kind)
            return ROWS[i].add(n, op, err);
    return error_set(err, EXIT_CODE_USAGE, "%s: no such operator in the export to ONNX",
                     op_name(op->kind));
}

/* Operators of the graph are in an order in which each reads what is made before it, as ONNX
 * demands of its nodes. */
int onnx_nodes_add(struct onnx_nodes *n, struct error *err) {
    for (int i = 0; i < n->graph->op_count; i++) {
        const struct op *op = &n->graph->ops[i];
        /* The loss is for evaluations. */
        if (op->kind != OP_SOFTMAX_CROSS_ENTROPY && add_op(n, op, err) != 0)
            return -1;
    }
    return 0;
}
