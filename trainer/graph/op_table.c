/* The operator table and the cost of its rows. */
#include "graph/op.h"
#include "graph/rules.h"

static double count_of(const struct graph *graph, int tensor) {
    return (double)tensor_count(&graph->tensors[tensor]);
}

/* Elementwise work and reductions are bound by memory; their cost is one FLOP for each element of
 * the widest tensor, so that a sum over a graph stays a meaningful number. */
static double flops_elements(const struct graph *graph, const struct op *op) {
    double most = 0;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (op->inputs[i] != TENSOR_NONE && count_of(graph, op->inputs[i]) > most)
            most = count_of(graph, op->inputs[i]);
    return most;
}

/* The larger tensor of a convolution's channels and taps: 2 x outputs x taps x input channels. */
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

static double flops_linear(const struct graph *graph, const struct op *op) {
    return 2.0 * count_of(graph, op->inputs[1]) *
           (double)graph->tensors[op->inputs[0]].shape.dim[0];
}

static double flops_linear_grad_weight(const struct graph *graph, const struct op *op) {
    return 2.0 * count_of(graph, op->outputs[0]) *
           (double)graph->tensors[op->inputs[0]].shape.dim[0];
}

#define IN_PLACE_1(output, input) .in_place = {{output, input}}, .in_place_count = 1
#define IN_PLACE_2(o1, i1, o2, i2) .in_place = {{o1, i1}, {o2, i2}}, .in_place_count = 2

#define NORM(label, pairs)                                                                         \
    {                                                                                              \
        .name = label, .inputs = NORM_INPUTS, .outputs = NORM_OUTPUTS, .shape = shape_batch_norm,  \
        .gradient = gradient_batch_norm, .flops = flops_elements, pairs                            \
    }
#define NORM_GRAD(label, pairs)                                                                    \
    {                                                                                              \
        .name = label, .inputs = NORM_GRAD_INPUTS, .outputs = NORM_GRAD_OUTPUTS,                   \
        .shape = shape_batch_norm_grad, .flops = flops_elements, pairs                             \
    }
#define NORM_INFERENCE(label, pairs)                                                               \
    {                                                                                              \
        .name = label, .inputs = NORM_INPUTS, .outputs = 1, .shape = shape_batch_norm,             \
        .flops = flops_elements, pairs                                                             \
    }

#define FUSED_CONV(label, count)                                                                   \
    {                                                                                              \
        .name = label, .inputs = FUSED_CONV_INPUTS, .outputs = count, .shape = shape_fused_conv2d, \
        .flops = flops_conv2d                                                                      \
    }
#define NORM_APPLY(label)                                                                          \
    {                                                                                              \
        .name = label, .inputs = FUSED_CONV_INPUTS, .outputs = 1, .shape = shape_norm_apply,       \
        .flops = flops_elements, IN_PLACE_2(0, FUSED_CONV_X, 0, FUSED_CONV_SIDE)                   \
    }
#define GRAD_DATA_NORM(label)                                                                      \
    {                                                                                              \
        .name = label, .inputs = GRAD_DATA_NORM_INPUTS, .outputs = GRAD_DATA_NORM_OUTPUTS,         \
        .shape = shape_conv2d_grad_data_norm, .flops = flops_conv2d_grad_data                      \
    }

static const struct op_rule rules[OP_KINDS] = {
    [OP_IMAGE_NORMALIZE] = {.name = "image_normalize",
                            .inputs = 1,
                            .outputs = 1,
                            .shape = shape_image_normalize,
                            .flops = flops_elements},
    [OP_CONV2D] = {.name = "conv2d",
                   .inputs = 2,
                   .outputs = 1,
                   .shape = shape_conv2d,
                   .gradient = gradient_conv2d,
                   .flops = flops_conv2d},
    [OP_CONV2D_GRAD_DATA] = {.name = "conv2d_grad_data",
                             .inputs = 2,
                             .outputs = 1,
                             .shape = shape_conv2d_grad_data,
                             .flops = flops_conv2d_grad_data},
    [OP_CONV2D_GRAD_WEIGHT] = {.name = "conv2d_grad_weight",
                               .inputs = 2,
                               .outputs = 1,
                               .shape = shape_conv2d_grad_weight,
                               .flops = flops_conv2d_grad_weight},

    [OP_BATCH_NORM] = NORM("batch_norm", IN_PLACE_1(NORM_Y, NORM_X)),
    [OP_BATCH_NORM_RELU] = NORM("batch_norm_relu", IN_PLACE_1(NORM_Y, NORM_X)),
    [OP_BATCH_NORM_ADD_RELU] =
        NORM("batch_norm_add_relu", IN_PLACE_2(NORM_Y, NORM_X, NORM_Y, NORM_SIDE)),
    [OP_BATCH_NORM_DUAL_ADD_RELU] =
        NORM("batch_norm_dual_add_relu", IN_PLACE_2(NORM_Y, NORM_X, NORM_Y, NORM_SIDE)),
    [OP_BATCH_NORM_RELU_MAX_POOL] = NORM("batch_norm_relu_max_pool", .in_place_count = 0),

    [OP_BATCH_NORM_GRAD] = NORM_GRAD(
        "batch_norm_grad", IN_PLACE_2(NORM_GRAD_DX, NORM_GRAD_DY, NORM_GRAD_DX, NORM_GRAD_X)),
    [OP_BATCH_NORM_RELU_GRAD] = NORM_GRAD(
        "batch_norm_relu_grad", IN_PLACE_2(NORM_GRAD_DX, NORM_GRAD_DY, NORM_GRAD_DX, NORM_GRAD_X)),
    [OP_BATCH_NORM_ADD_RELU_GRAD] =
        NORM_GRAD("batch_norm_add_relu_grad",
                  IN_PLACE_2(NORM_GRAD_DX, NORM_GRAD_X, NORM_GRAD_DSIDE, NORM_GRAD_DY)),
    [OP_BATCH_NORM_DUAL_ADD_RELU_GRAD] =
        NORM_GRAD("batch_norm_dual_add_relu_grad",
                  IN_PLACE_2(NORM_GRAD_DX, NORM_GRAD_X, NORM_GRAD_DSIDE, NORM_GRAD_SIDE)),
    [OP_BATCH_NORM_RELU_MAX_POOL_GRAD] =
        NORM_GRAD("batch_norm_relu_max_pool_grad", IN_PLACE_1(NORM_GRAD_DX, NORM_GRAD_X)),

    [OP_BATCH_NORM_INFERENCE] = NORM_INFERENCE("batch_norm_inference", IN_PLACE_1(NORM_Y, NORM_X)),
    [OP_BATCH_NORM_INFERENCE_RELU] =
        NORM_INFERENCE("batch_norm_inference_relu", IN_PLACE_1(NORM_Y, NORM_X)),
    [OP_BATCH_NORM_INFERENCE_ADD_RELU] = NORM_INFERENCE(
        "batch_norm_inference_add_relu", IN_PLACE_2(NORM_Y, NORM_X, NORM_Y, NORM_SIDE)),
    [OP_BATCH_NORM_INFERENCE_DUAL_ADD_RELU] = NORM_INFERENCE(
        "batch_norm_inference_dual_add_relu", IN_PLACE_2(NORM_Y, NORM_X, NORM_Y, NORM_SIDE)),

    [OP_RELU] = {.name = "relu",
                 .inputs = 1,
                 .outputs = 1,
                 .shape = shape_relu,
                 .gradient = gradient_relu,
                 .flops = flops_elements,
                 IN_PLACE_1(0, 0)},
    [OP_RELU_GRAD] = {.name = "relu_grad",
                      .inputs = 2,
                      .outputs = 1,
                      .shape = shape_pair,
                      .flops = flops_elements,
                      IN_PLACE_2(0, 0, 0, 1)},
    [OP_ADD] = {.name = "add",
                .inputs = 2,
                .outputs = 1,
                .shape = shape_pair,
                .gradient = gradient_add,
                .flops = flops_elements,
                IN_PLACE_2(0, 0, 0, 1)},
    [OP_ADD_RELU] = {.name = "add_relu",
                     .inputs = 2,
                     .outputs = 1,
                     .shape = shape_pair,
                     .gradient = gradient_add_relu,
                     .flops = flops_elements,
                     IN_PLACE_2(0, 0, 0, 1)},

    [OP_MAX_POOL] = {.name = "max_pool",
                     .inputs = 1,
                     .outputs = 2,
                     .shape = shape_max_pool,
                     .gradient = gradient_max_pool,
                     .flops = flops_elements},
    [OP_MAX_POOL_GRAD] = {.name = "max_pool_grad",
                          .inputs = 2,
                          .outputs = 1,
                          .shape = shape_max_pool_grad,
                          .flops = flops_elements},
    [OP_GLOBAL_AVG_POOL] = {.name = "global_avg_pool",
                            .inputs = 1,
                            .outputs = 1,
                            .shape = shape_global_avg_pool,
                            .gradient = gradient_global_avg_pool,
                            .flops = flops_elements},
    [OP_GLOBAL_AVG_POOL_GRAD] = {.name = "global_avg_pool_grad",
                                 .inputs = 1,
                                 .outputs = 1,
                                 .shape = shape_global_avg_pool_grad,
                                 .flops = flops_elements},

    [OP_LINEAR] = {.name = "linear",
                   .inputs = 3,
                   .outputs = 1,
                   .shape = shape_linear,
                   .gradient = gradient_linear,
                   .flops = flops_linear},
    [OP_LINEAR_GRAD_DATA] = {.name = "linear_grad_data",
                             .inputs = 2,
                             .outputs = 1,
                             .shape = shape_linear_grad_data,
                             .flops = flops_linear},
    [OP_LINEAR_GRAD_WEIGHT] = {.name = "linear_grad_weight",
                               .inputs = 2,
                               .outputs = 2,
                               .shape = shape_linear_grad_weight,
                               .flops = flops_linear_grad_weight},

    [OP_SOFTMAX_CROSS_ENTROPY] = {.name = "softmax_cross_entropy",
                                  .inputs = 3,
                                  .outputs = 1,
                                  .shape = shape_loss,
                                  .gradient = gradient_loss,
                                  .flops = flops_elements},
    [OP_SOFTMAX_CROSS_ENTROPY_GRAD] = {.name = "softmax_cross_entropy_grad",
                                       .inputs = 3,
                                       .outputs = 1,
                                       .shape = shape_loss_grad,
                                       .flops = flops_elements},

    [OP_CONV2D_STATS] = FUSED_CONV("conv2d_stats", 3),
    [OP_NORM_CONV2D_STATS] = FUSED_CONV("norm_conv2d_stats", 3),
    [OP_JOIN_CONV2D_STATS] = FUSED_CONV("join_conv2d_stats", FUSED_CONV_OUTPUTS),
    [OP_DUAL_JOIN_CONV2D_STATS] = FUSED_CONV("dual_join_conv2d_stats", FUSED_CONV_OUTPUTS),
    [OP_NORM_FINALIZE] = {.name = "norm_finalize",
                          .inputs = NORM_FINALIZE_INPUTS,
                          .outputs = NORM_FINALIZE_OUTPUTS,
                          .shape = shape_norm_finalize,
                          .flops = flops_elements},
    [OP_NORM_APPLY_RELU] = NORM_APPLY("norm_apply_relu"),
    [OP_JOIN_APPLY_RELU] = NORM_APPLY("join_apply_relu"),
    [OP_DUAL_JOIN_APPLY_RELU] = NORM_APPLY("dual_join_apply_relu"),
    [OP_NORM_CONV2D_GRAD_WEIGHT] = {.name = "norm_conv2d_grad_weight",
                                    .inputs = 4,
                                    .outputs = 1,
                                    .shape = shape_norm_conv2d_grad_weight,
                                    .flops = flops_conv2d_grad_weight},
    [OP_CONV2D_GRAD_DATA_NORM] = GRAD_DATA_NORM("conv2d_grad_data_norm"),
    [OP_CONV2D_GRAD_DATA_ADD_NORM] = GRAD_DATA_NORM("conv2d_grad_data_add_norm"),
    [OP_CONV2D_GRAD_DATA_ADD_JOIN] = GRAD_DATA_NORM("conv2d_grad_data_add_join"),
    [OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN] = GRAD_DATA_NORM("conv2d_grad_data_add_dual_join"),
    [OP_NORM_GRAD_APPLY] = {.name = "norm_grad_apply",
                            .inputs = 3,
                            .outputs = 1,
                            .shape = shape_norm_grad_apply,
                            .flops = flops_elements,
                            IN_PLACE_2(0, 0, 0, 1)},
};

bool op_updates(enum op_kind kind, int slot) {
    if (kind == OP_NORM_FINALIZE)
        return slot == NORM_FINALIZE_MEAN || slot == NORM_FINALIZE_VARIANCE;
    if (kind < OP_BATCH_NORM || kind > OP_BATCH_NORM_RELU_MAX_POOL)
        return false;
    return slot == NORM_MEAN || slot == NORM_VARIANCE || slot == NORM_MEAN2 ||
           slot == NORM_VARIANCE2;
}

const struct op_rule *op_rule(enum op_kind kind) {
    return &rules[kind];
}

const char *op_name(enum op_kind kind) {
    return rules[kind].name;
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
