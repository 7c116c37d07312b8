#include "trainer/backend/cuda/dnn/dnn_graph.h"

#include "trainer/backend/cuda/dnn/dnn_ops.h"

#include <stddef.h>

/* Fusion happens if cuDNN has an engine for the whole graph, so these graphs are written after the
 * engines that exist, and what is not offered is left out (dnn_pattern_applies). A build_ function
 * for each family of patterns reads like the formula in enum dnn_pattern; the operations are in
 * dnn_ops.c. tests/plans checks which patterns have plans on which device. */

/* Used in errors and in the keys of the plan cache: with another name its entries are not found. */
static const char *const names[DNN_PATTERN_COUNT] = {
    "forward",
    "grad_data",
    "grad_weight",
    "forward_stats",
    "norm_forward_stats",
    "join_forward_stats",
    "dual_join_forward_stats",
    "forward_bias",
    "forward_bias_relu",
    "forward_bias_add_relu",
    "norm_grad_weight",
    "grad_data_norm",
    "grad_data_add_norm",
    "grad_data_add_join",
    "grad_data_add_dual_join",
};

/* PATTERN is below DNN_PATTERN_COUNT; the text is static. */
const char *dnn_pattern_name(enum dnn_pattern pattern) {
    return names[pattern];
}

/* Groups have no fused engines. A join before a strided convolution would write a tensor of which
 * the convolution reads a quarter. Only shapes count here; convs_support() also asks whether the
 * device has plans. */
bool dnn_pattern_applies(enum dnn_pattern pattern, const struct dnn_conv *conv) {
    if (conv->groups > 1 && pattern > DNN_GRAD_WEIGHT)
        return false;
    switch (pattern) {
    case DNN_JOIN_FORWARD_STATS:
    case DNN_DUAL_JOIN_FORWARD_STATS:
    case DNN_GRAD_DATA_ADD_NORM:
    case DNN_GRAD_DATA_ADD_JOIN:
    case DNN_GRAD_DATA_ADD_DUAL_JOIN:
        return conv->stride == 1;
    default:
        return true;
    }
}

/* Also frees a graph that was built in part, and may be called twice. G is zeroed afterwards. */
void dnn_graph_done(struct dnn_graph *g) {
    dnn_pool_done(&g->pool);
    *g = (struct dnn_graph){0};
}

typedef cudnnBackendDescriptor_t desc_t;

/* The plain pass, and those with a prologue (norm, ReLU, join) and statistics. A join is written to
 * memory, because other operators read it, too; the result of a norm alone is not. X is replaced
 * step by step by what the convolution reads, so the same call of the convolution ends every
 * pattern. In a dual join the other branch has a norm of its own; in a plain one the residual is
 * added as it is. */
static void build_forward(struct dnn_build *b, enum dnn_pattern pattern) {
    desc_t x = NULL;
    if (pattern == DNN_FORWARD || pattern == DNN_FORWARD_STATS) {
        x = dnn_op_tensor(b, DNN_UID_X, b->in_dims, b->activation);
    } else {
        x = dnn_op_scale_bias(b, DNN_UID_X, DNN_UID_SCALE, DNN_UID_BIAS);
        bool joins = pattern != DNN_NORM_FORWARD_STATS;
        if (pattern == DNN_JOIN_FORWARD_STATS) {
            desc_t residual = dnn_op_tensor(b, DNN_UID_RESIDUAL, b->in_dims, b->activation);
            x = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, x, residual);
        } else if (pattern == DNN_DUAL_JOIN_FORWARD_STATS) {
            desc_t other = dnn_op_scale_bias(b, DNN_UID_X2, DNN_UID_SCALE2, DNN_UID_BIAS2);
            x = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, x, other);
        }
        desc_t z = joins ? dnn_op_tensor(b, DNN_UID_JOIN, b->in_dims, b->activation)
                         : dnn_op_virtual(b, b->in_dims);
        dnn_op_pointwise(b, CUDNN_POINTWISE_RELU_FWD, x, NULL, z);
        x = z;
    }
    desc_t y = dnn_op_response(b);
    dnn_op_convolve(b, DNN_FORWARD, x, y);
    if (pattern != DNN_FORWARD)
        dnn_op_statistics(b, y);
}

/* The form that cuDNN 9.19 has precompiled: f32 between the operations, the bias in the
 * activation's type, and the residual added before it. A residual without a ReLU is not
 * available. */
static void build_forward_bias(struct dnn_build *b, enum dnn_pattern pattern) {
    desc_t sum = dnn_op_virtual(b, b->out_dims);
    dnn_op_convolve(b, DNN_FORWARD, dnn_op_tensor(b, DNN_UID_X, b->in_dims, b->activation), sum);
    if (pattern == DNN_FORWARD_BIAS_ADD_RELU) {
        desc_t residual = dnn_op_tensor(b, DNN_UID_RESIDUAL, b->out_dims, b->activation);
        sum = dnn_op_pointwise_of(b, b->out_dims, CUDNN_POINTWISE_ADD, sum, residual);
    }
    desc_t bias = dnn_op_channels(b, DNN_UID_BIAS, b->conv->out_channels, b->activation);
    if (pattern == DNN_FORWARD_BIAS) {
        dnn_op_pointwise(b, CUDNN_POINTWISE_ADD, sum, bias, dnn_op_response(b));
        return;
    }
    sum = dnn_op_pointwise_of(b, b->out_dims, CUDNN_POINTWISE_ADD, sum, bias);
    dnn_op_pointwise(b, CUDNN_POINTWISE_RELU_FWD, sum, NULL, dnn_op_response(b));
}

/* The fused form recomputes its normalized input, which the forward pass did not store. The two
 * patterns differ in the first operand alone. The gradient is in the activation's type
 * (dnn_graph.h). */
static void build_grad_weight(struct dnn_build *b, enum dnn_pattern pattern) {
    desc_t x = NULL;
    if (pattern == DNN_GRAD_WEIGHT) {
        x = dnn_op_tensor(b, DNN_UID_X, b->in_dims, b->activation);
    } else {
        desc_t normed = dnn_op_scale_bias(b, DNN_UID_X, DNN_UID_SCALE, DNN_UID_BIAS);
        x = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_RELU_FWD, normed, NULL);
    }
    dnn_op_convolve(b, DNN_GRAD_WEIGHT, x, dnn_op_response(b));
}

/* The epilogues read from the convolution outwards: add the shortcut's gradient, mask by the ReLU
 * of the recomputed norm or join, and reduce for the norm or for both. G is written for the
 * operators that follow: the weight gradient of the convolution before, and the second pass of the
 * norm. With two norms, both reduce the same g. */
static void build_grad_data(struct dnn_build *b, enum dnn_pattern pattern) {
    if (pattern == DNN_GRAD_DATA) {
        desc_t dx = dnn_op_tensor(b, DNN_UID_DX, b->in_dims, b->activation);
        dnn_op_convolve(b, DNN_GRAD_DATA, dx, dnn_op_response(b));
        return;
    }
    desc_t gradient = dnn_op_virtual(b, b->in_dims);
    dnn_op_convolve(b, DNN_GRAD_DATA, gradient, dnn_op_response(b));
    if (pattern != DNN_GRAD_DATA_NORM) {
        desc_t shortcut = dnn_op_tensor(b, DNN_UID_SHORTCUT, b->in_dims, b->activation);
        gradient = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, gradient, shortcut);
    }
    struct dnn_norm first = dnn_op_norm(b, DNN_UID_NORM);
    struct dnn_norm second = {0};
    desc_t input = dnn_op_normalise(b, &first);
    if (pattern == DNN_GRAD_DATA_ADD_JOIN) {
        desc_t residual = dnn_op_tensor(b, DNN_UID_RESIDUAL, b->in_dims, b->activation);
        input = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, input, residual);
    } else if (pattern == DNN_GRAD_DATA_ADD_DUAL_JOIN) {
        second = dnn_op_norm(b, DNN_UID_NORM2);
        input =
            dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, input, dnn_op_normalise(b, &second));
    }
    desc_t g = dnn_op_relu_grad(b, input, gradient);
    dnn_op_norm_reduction(b, &first, DNN_UID_NORM, DNN_UID_COEFFICIENT, g);
    if (pattern == DNN_GRAD_DATA_ADD_DUAL_JOIN)
        dnn_op_norm_reduction(b, &second, DNN_UID_NORM2, DNN_UID_COEFFICIENT2, g);
}

/* The pattern's name is put before any error. G is initialized in any case, so dnn_graph_done() is
 * safe. Patterns are grouped by the order of enum dnn_pattern: forward passes with a bias, and data
 * gradients with a norm, are ranges in it. Errors of single operations are found here, after the
 * build, since all later operations did nothing. */
int dnn_graph_build(struct dnn_graph *g, enum dnn_pattern pattern, const struct dnn_conv *conv,
                    cudnnDataType_t activation, struct error *err) {
    *g = (struct dnn_graph){.next_virtual = DNN_UID_VIRTUAL};
    struct dnn_build b = {
        .g = g,
        .conv = conv,
        .activation = activation,
        .in_dims = {conv->batch, conv->in_channels, conv->height, conv->width},
        .out_dims = {conv->batch, conv->out_channels, dnn_conv_output(conv, 0),
                     dnn_conv_output(conv, 1)},
        .err = err,
    };
    if (pattern == DNN_GRAD_WEIGHT || pattern == DNN_NORM_GRAD_WEIGHT)
        build_grad_weight(&b, pattern);
    else if (pattern >= DNN_FORWARD_BIAS && pattern <= DNN_FORWARD_BIAS_ADD_RELU)
        build_forward_bias(&b, pattern);
    else if (pattern == DNN_GRAD_DATA || pattern >= DNN_GRAD_DATA_NORM)
        build_grad_data(&b, pattern);
    else
        build_forward(&b, pattern);
    if (b.failed || dnn_new(&g->pool, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph",
                            &g->graph, err) != 0)
        return error_wrap(err, "%s", names[pattern]);
    if (dnn_set(g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->op_count,
                g->ops, err) != 0 ||
        dnn_finalize(g->graph, "operation graph", err) != 0)
        return error_wrap(err, "%s", names[pattern]);
    return 0;
}
