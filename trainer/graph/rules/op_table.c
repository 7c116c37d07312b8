#include "trainer/graph/rules/op_table.h"

#include "trainer/graph/rules/rules.h"

static double count_of(const struct graph *graph, int tensor) {
    return (double)tensor_count(&graph->tensors[tensor]);
}

/* Elementwise work and reductions are bound by memory. Their cost is one FLOP per element of the
 * widest tensor, so that a sum over a graph stays a meaningful number. */
static double flops_elements(const struct graph *graph, const struct op *op) {
    double most = 0;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (op->inputs[i] != TENSOR_NONE && count_of(graph, op->inputs[i]) > most)
            most = count_of(graph, op->inputs[i]);
    return most;
}

/* 2 x outputs x taps x input channels of a convolution. */
static double conv_flops(const struct graph *graph, int y, const struct shape *w) {
    return 2.0 * count_of(graph, y) * (double)(w->dim[1] * w->dim[2] * w->dim[3]);
}

static double flops_conv2d(const struct graph *graph, const struct op *op) {
    return conv_flops(graph, op->outputs[0], &graph->tensors[op->inputs[1]].shape);
}

static double flops_conv2d_grad_data(const struct graph *graph, const struct op *op) {
    return conv_flops(graph, op->inputs[0], &graph->tensors[op->inputs[1]].shape);
}

static double flops_conv2d_grad_weight(const struct graph *graph, const struct op *op) {
    return conv_flops(graph, op->inputs[0], &op->attr.target);
}

/* Both gradients. */
static double flops_conv2d_backward(const struct graph *graph, const struct op *op) {
    return 2 * conv_flops(graph, op->inputs[CONV_BACKWARD_G],
                          &graph->tensors[op->inputs[CONV_BACKWARD_W]].shape);
}

static double flops_linear(const struct graph *graph, const struct op *op) {
    /* The weights times the rows of y, or of dy. */
    int of = op->kind == OP_LINEAR ? op->outputs[0] : op->inputs[0];
    return 2.0 * count_of(graph, op->inputs[1]) * (double)graph->tensors[of].shape.dim[0];
}

static double flops_linear_grad_weight(const struct graph *graph, const struct op *op) {
    return 2.0 * count_of(graph, op->outputs[0]) *
           (double)graph->tensors[op->inputs[0]].shape.dim[0];
}

/* Sums over the samples of a bin: four pixels each; assumes four samples if the number depends on
 * the bin. */
static double flops_roi_align(const struct graph *graph, const struct op *op) {
    int sampling = op->attr.detect.sampling > 0 ? op->attr.detect.sampling : 2;
    int bins = op->kind == OP_ROI_ALIGN ? op->outputs[ROI_ALIGN_Y] : op->inputs[ROI_ALIGN_GRAD_DY];
    return 2.0 * count_of(graph, bins) * 4 * sampling * sampling;
}

/* One product per value of x, forward or backward. */
static double flops_class_conv(const struct graph *graph, const struct op *op) {
    double x = op->kind == OP_CLASS_CONV_GRAD_DATA ? count_of(graph, op->outputs[0])
                                                   : flops_elements(graph, op);
    return 2.0 * x;
}

/* An upper bound: two products of the convolution and two of the predictors for each slot of a
 * sample. */
static double flops_rpn_head_grad(const struct graph *graph, const struct op *op) {
    double predictors = count_of(graph, op->inputs[RPN_HEAD_GRAD_W_CLS]) +
                        count_of(graph, op->inputs[RPN_HEAD_GRAD_W_BOX]);
    return 4.0 * count_of(graph, op->inputs[RPN_HEAD_GRAD_INDEX]) *
           (count_of(graph, op->inputs[RPN_HEAD_GRAD_W_CONV]) + predictors);
}

#define NO_PLACE .in_place_count = 0
#define PLACE_1(output, input) .in_place = {{output, input, 0}}, .in_place_count = 1
#define PLACE_2(o1, i1, o2, i2) .in_place = {{o1, i1, 0}, {o2, i2, 0}}, .in_place_count = 2
#define PLACE_4(o1, i1, o2, i2, o3, i3, o4, i4)                                                    \
    .in_place = {{o1, i1, 0}, {o2, i2, 0}, {o3, i3, 0}, {o4, i4, 0}}, .in_place_count = 4

/* In-place pairs of norms; not for pools, as their result is smaller than their input. */
enum {
    FORM_ADD = 1 << NORM_ADD_RELU,
    FORM_DUAL = 1 << NORM_DUAL_ADD_RELU,
    FORM_ALONE = 1 << NORM_PLAIN | 1 << NORM_RELU
};
#define NORM_PLACES                                                                                \
    .in_place = {{NORM_Y, NORM_X, FORM_ALONE | FORM_ADD | FORM_DUAL},                              \
                 {NORM_Y, NORM_SIDE, FORM_ADD | FORM_DUAL}},                                       \
    .in_place_count = 2
#define NORM_GRAD_PLACES                                                                           \
    .in_place = {{NORM_GRAD_DX, NORM_GRAD_DY, FORM_ALONE},                                         \
                 {NORM_GRAD_DX, NORM_GRAD_X, 0},                                                   \
                 {NORM_GRAD_DSIDE, NORM_GRAD_DY, FORM_ADD},                                        \
                 {NORM_GRAD_DSIDE, NORM_GRAD_SIDE, FORM_DUAL}},                                    \
    .in_place_count = 4

static const struct op_rule rules[OP_KINDS] = {
#define OP(kind, label, in, out, rule, back, cost, places, ...)                                    \
    [OP_##kind] = {.name = #label,                                                                 \
                   .inputs = in,                                                                   \
                   .outputs = out,                                                                 \
                   .shape = shape_##rule,                                                          \
                   .flops = flops_##cost,                                                          \
                   places},
#include "trainer/graph/ops.def"
};

const struct op_rule *op_rule(enum op_kind kind) {
    return &rules[kind];
}

struct op_cost op_cost(const struct graph *graph, const struct op *op) {
    struct op_cost cost = {.flops = rules[op->kind].flops(graph, op)};
    for (int i = 0; i < OP_READS_MAX; i++)
        if (op_reads(op, i) != TENSOR_NONE)
            cost.bytes += (double)tensor_bytes(&graph->tensors[op_reads(op, i)]);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE)
            cost.bytes += (double)tensor_bytes(&graph->tensors[op->outputs[i]]);
    return cost;
}

int graph_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, struct error *err) {
    const struct op_rule *rule = op_rule(kind);
    struct op op = {.kind = kind, .rows = graph->rows, .forward = -1};
    if (attr != NULL)
        op.attr = *attr;
    tensor_set_name(op.name, name);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        op.inputs[i] = i < rule->inputs ? inputs[i] : TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        op.outputs[i] = TENSOR_NONE;
    if (graph_reserve(graph, err) != 0)
        return -1;
    if (rule->shape(graph, &op, err) != 0)
        return error_wrap(err, "%s %s", rule->name, name);
    int number = graph->op_count++;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op.outputs[i] != TENSOR_NONE)
            graph->tensors[op.outputs[i]].producer = number;
    graph->ops[number] = op;
    return number;
}
