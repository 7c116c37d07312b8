#include "trainer/backend/cuda/dnn/dnn_graph.h"

#include <stddef.h>

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

const char *dnn_pattern_name(enum dnn_pattern pattern) {
    return names[pattern];
}

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

void dnn_graph_done(struct dnn_graph *g) {
    dnn_pool_done(&g->pool);
    *g = (struct dnn_graph){0};
}

typedef cudnnBackendDescriptor_t desc_t;

/* State shared by the steps of one build. The first failure is kept and later steps do nothing, so
 * that a pattern reads like its formula. */
struct build {
    struct dnn_graph *g;
    const struct dnn_conv *conv;
    cudnnDataType_t activation;
    int64_t in_dims[4];  /* N C H W of the convolution's input */
    int64_t out_dims[4]; /* and of its output */
    bool failed;
    struct error *err;
};

static void check(struct build *b, int result) {
    b->failed = b->failed || result != 0;
}

static desc_t tensor(struct build *b, int64_t uid, const int64_t dims[4], cudnnDataType_t type) {
    desc_t t = NULL;
    if (b->failed)
        return t;
    bool is_virtual = uid >= DNN_UID_VIRTUAL;
    int64_t strides[4] = {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
    check(b, dnn_new(&b->g->pool, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor", &t, b->err));
    if (b->failed)
        return NULL;
    struct error *err = b->err;
    check(b,
          dnn_set(t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, err) ||
              dnn_set(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims, err) ||
              dnn_set(t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides, err) ||
              dnn_set_int(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid, err) ||
              dnn_set_int(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16, err) ||
              dnn_set(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual, err) ||
              dnn_finalize(t, "tensor", err));
    return t;
}

/* Values that never reach memory are f32: an engine that honours the type must not round them. */
static desc_t virtual_tensor(struct build *b, const int64_t dims[4]) {
    return tensor(b, b->g->next_virtual++, dims, CUDNN_DATA_FLOAT);
}

static desc_t channel_tensor(struct build *b, int64_t uid, int64_t channels, cudnnDataType_t type) {
    return tensor(b, uid, (int64_t[4]){1, channels, 1, 1}, type);
}

/* Makes a new operation of TYPE, listed in the graph; finished by finish_op. */
static desc_t new_op(struct build *b, cudnnBackendDescriptorType_t type, const char *what) {
    desc_t op = NULL;
    if (!b->failed)
        check(b, dnn_new(&b->g->pool, type, what, &op, b->err));
    return op;
}

static void finish_op(struct build *b, desc_t op, const char *what) {
    if (b->failed)
        return;
    check(b, dnn_finalize(op, what, b->err));
    b->g->ops[b->g->op_count++] = op;
}

struct slot {
    cudnnBackendAttributeName_t name;
    desc_t value;
};

static void set_slots(struct build *b, desc_t op, const struct slot *slots, size_t count) {
    for (size_t i = 0; i < count && !b->failed; i++)
        check(b, dnn_set_desc(op, slots[i].name, slots[i].value, b->err));
}
#define SET_SLOTS(b, op, ...)                                                                      \
    set_slots(b, op, (const struct slot[]){__VA_ARGS__},                                           \
              sizeof((const struct slot[]){__VA_ARGS__}) / sizeof(struct slot))

static desc_t conv_descriptor(struct build *b) {
    desc_t d = new_op(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
    if (b->failed)
        return NULL;
    const struct dnn_conv *c = b->conv;
    struct error *err = b->err;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t pads[2] = {c->padding[0], c->padding[1]};
    int64_t strides[2] = {c->stride, c->stride};
    int64_t ones[2] = {1, 1};
    check(b, dnn_set(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute, err) ||
                 dnn_set(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode,
                         err) ||
                 dnn_set_int(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2, err) ||
                 dnn_set(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads, err) ||
                 dnn_set(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads, err) ||
                 dnn_set(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones, err) ||
                 dnn_set(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides,
                         err) ||
                 dnn_finalize(d, "convolution", err));
    return d;
}

static desc_t filter(struct build *b) {
    const struct dnn_conv *c = b->conv;
    const int64_t dims[4] = {c->out_channels, dnn_conv_filter_channels(c), c->kernel[0],
                             c->kernel[1]};
    return tensor(b, DNN_UID_W, dims, b->activation);
}

/* The three passes of a convolution have the same operands under different names. IMAGE is the
 * convolution's input or its gradient, RESPONSE the output or its gradient. */
struct conv_pass {
    cudnnBackendDescriptorType_t type;
    const char *what;
    cudnnBackendAttributeName_t conv, image, filter, response, alpha, beta;
};

static const struct conv_pass conv_passes[] = {
    [DNN_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, "conv forward",
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [DNN_GRAD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, "dgrad",
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [DNN_GRAD_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, "wgrad",
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static void convolve(struct build *b, enum dnn_pattern pattern, desc_t image, desc_t response) {
    const struct conv_pass *pass = &conv_passes[pattern];
    float alpha = 1, beta = 0;
    desc_t conv = conv_descriptor(b);
    desc_t op = new_op(b, pass->type, pass->what);
    SET_SLOTS(b, op, {pass->conv, conv}, {pass->image, image}, {pass->filter, filter(b)},
              {pass->response, response});
    if (!b->failed)
        check(b, dnn_set(op, pass->alpha, CUDNN_TYPE_FLOAT, 1, &alpha, b->err) ||
                     dnn_set(op, pass->beta, CUDNN_TYPE_FLOAT, 1, &beta, b->err));
    finish_op(b, op, pass->what);
}

/* Returns the convolution's output, or its gradient. */
static desc_t response(struct build *b) {
    return tensor(b, DNN_UID_Y, b->out_dims, b->activation);
}

static desc_t pointwise_descriptor(struct build *b, cudnnPointwiseMode_t mode) {
    desc_t d = new_op(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise");
    if (b->failed)
        return NULL;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    check(b, dnn_set(d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode, b->err) ||
                 dnn_set(d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute,
                         b->err) ||
                 dnn_finalize(d, "pointwise", b->err));
    return d;
}

/* y = x MODE operand; OPERAND is NULL for RELU_FWD. */
static void pointwise(struct build *b, cudnnPointwiseMode_t mode, desc_t x, desc_t operand,
                      desc_t y) {
    desc_t d = pointwise_descriptor(b, mode);
    desc_t op = new_op(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise operation");
    SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y});
    if (operand != NULL)
        SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, operand});
    finish_op(b, op, "pointwise operation");
}

static desc_t pointwise_of(struct build *b, const int64_t dims[4], cudnnPointwiseMode_t mode,
                           desc_t x, desc_t operand) {
    desc_t y = virtual_tensor(b, dims);
    pointwise(b, mode, x, operand, y);
    return y;
}

static desc_t pointwise_virtual(struct build *b, cudnnPointwiseMode_t mode, desc_t x,
                                desc_t operand) {
    return pointwise_of(b, b->in_dims, mode, x, operand);
}

/* x * scale + bias with per-channel operands of the activation's type. */
static desc_t scale_bias(struct build *b, int64_t x_uid, int64_t scale_uid, int64_t bias_uid) {
    int64_t channels = b->conv->in_channels;
    desc_t x = tensor(b, x_uid, b->in_dims, b->activation);
    desc_t scale = channel_tensor(b, scale_uid, channels, b->activation);
    desc_t bias = channel_tensor(b, bias_uid, channels, b->activation);
    desc_t scaled = pointwise_virtual(b, CUDNN_POINTWISE_MUL, x, scale);
    return pointwise_virtual(b, CUDNN_POINTWISE_ADD, scaled, bias);
}

static void statistics(struct build *b, desc_t y) {
    int64_t channels = b->conv->out_channels;
    desc_t sum = channel_tensor(b, DNN_UID_SUM, channels, CUDNN_DATA_FLOAT);
    desc_t square_sum = channel_tensor(b, DNN_UID_SQUARE_SUM, channels, CUDNN_DATA_FLOAT);
    desc_t op = new_op(b, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, "statistics");
    if (b->failed)
        return;
    cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    check(b, dnn_set(op, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode,
                     b->err) ||
                 dnn_set(op, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                         &compute, b->err));
    SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y},
              {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sum},
              {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, square_sum});
    finish_op(b, op, "statistics");
}

/* A batch norm that has its normalized value recomputed in the backward pass. */
struct norm {
    desc_t x, mean, inv_std, gamma, beta;
};

static struct norm norm_operands(struct build *b, int64_t base) {
    int64_t channels = b->conv->in_channels;
    return (struct norm){
        .x = tensor(b, base + DNN_NORM_X, b->in_dims, b->activation),
        .mean = channel_tensor(b, base + DNN_NORM_MEAN, channels, CUDNN_DATA_FLOAT),
        .inv_std = channel_tensor(b, base + DNN_NORM_INV_STD, channels, CUDNN_DATA_FLOAT),
        .gamma = channel_tensor(b, base + DNN_NORM_GAMMA, channels, CUDNN_DATA_FLOAT),
        .beta = channel_tensor(b, base + DNN_NORM_BETA, channels, CUDNN_DATA_FLOAT),
    };
}

static desc_t normalise(struct build *b, const struct norm *n) {
    desc_t centred = pointwise_virtual(b, CUDNN_POINTWISE_SUB, n->x, n->mean);
    desc_t unit = pointwise_virtual(b, CUDNN_POINTWISE_MUL, centred, n->inv_std);
    desc_t scaled = pointwise_virtual(b, CUDNN_POINTWISE_MUL, unit, n->gamma);
    return pointwise_virtual(b, CUDNN_POINTWISE_ADD, scaled, n->beta);
}

/* g = gradient where the ReLU's input was positive; written to memory. */
static desc_t relu_grad(struct build *b, desc_t input, desc_t gradient) {
    desc_t g = tensor(b, DNN_UID_DX, b->in_dims, b->activation);
    desc_t d = pointwise_descriptor(b, CUDNN_POINTWISE_RELU_BWD);
    desc_t op = new_op(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "ReLU gradient");
    SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, input},
              {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, gradient},
              {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, g});
    finish_op(b, op, "ReLU gradient");
    return g;
}

static void norm_reduction(struct build *b, const struct norm *n, int64_t base, int64_t coefficient,
                           desc_t gradient) {
    int64_t channels = b->conv->in_channels;
    desc_t dgamma = channel_tensor(b, base + DNN_NORM_DGAMMA, channels, CUDNN_DATA_FLOAT);
    desc_t dbeta = channel_tensor(b, base + DNN_NORM_DBETA, channels, CUDNN_DATA_FLOAT);
    desc_t a = channel_tensor(b, coefficient, channels, CUDNN_DATA_FLOAT);
    desc_t x = channel_tensor(b, coefficient + 1, channels, CUDNN_DATA_FLOAT);
    desc_t c = channel_tensor(b, coefficient + 2, channels, CUDNN_DATA_FLOAT);
    desc_t op =
        new_op(b, CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, "batch-norm reduction");
    if (b->failed)
        return;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    check(b, dnn_set(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                     &compute, b->err));
    SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, n->mean},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, n->inv_std},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, n->gamma},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, n->x},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, gradient},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, dgamma},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, dbeta},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, a},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, x},
              {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, c});
    finish_op(b, op, "batch-norm reduction");
}

static void build_forward(struct build *b, enum dnn_pattern pattern) {
    desc_t x = NULL;
    if (pattern == DNN_FORWARD || pattern == DNN_FORWARD_STATS) {
        x = tensor(b, DNN_UID_X, b->in_dims, b->activation);
    } else {
        x = scale_bias(b, DNN_UID_X, DNN_UID_SCALE, DNN_UID_BIAS);
        bool joins = pattern != DNN_NORM_FORWARD_STATS;
        if (pattern == DNN_JOIN_FORWARD_STATS) {
            desc_t residual = tensor(b, DNN_UID_RESIDUAL, b->in_dims, b->activation);
            x = pointwise_virtual(b, CUDNN_POINTWISE_ADD, x, residual);
        } else if (pattern == DNN_DUAL_JOIN_FORWARD_STATS) {
            desc_t other = scale_bias(b, DNN_UID_X2, DNN_UID_SCALE2, DNN_UID_BIAS2);
            x = pointwise_virtual(b, CUDNN_POINTWISE_ADD, x, other);
        }
        desc_t z = joins ? tensor(b, DNN_UID_JOIN, b->in_dims, b->activation)
                         : virtual_tensor(b, b->in_dims);
        pointwise(b, CUDNN_POINTWISE_RELU_FWD, x, NULL, z);
        x = z;
    }
    desc_t y = response(b);
    convolve(b, DNN_FORWARD, x, y);
    if (pattern != DNN_FORWARD)
        statistics(b, y);
}

/* The form that cuDNN 9.19 has precompiled: f32 between the operations, the bias in the
 * activation's type, and the residual added before it. A residual without a ReLU is not
 * available. */
static void build_forward_bias(struct build *b, enum dnn_pattern pattern) {
    desc_t sum = virtual_tensor(b, b->out_dims);
    convolve(b, DNN_FORWARD, tensor(b, DNN_UID_X, b->in_dims, b->activation), sum);
    if (pattern == DNN_FORWARD_BIAS_ADD_RELU) {
        desc_t residual = tensor(b, DNN_UID_RESIDUAL, b->out_dims, b->activation);
        sum = pointwise_of(b, b->out_dims, CUDNN_POINTWISE_ADD, sum, residual);
    }
    desc_t bias = channel_tensor(b, DNN_UID_BIAS, b->conv->out_channels, b->activation);
    if (pattern == DNN_FORWARD_BIAS) {
        pointwise(b, CUDNN_POINTWISE_ADD, sum, bias, response(b));
        return;
    }
    sum = pointwise_of(b, b->out_dims, CUDNN_POINTWISE_ADD, sum, bias);
    pointwise(b, CUDNN_POINTWISE_RELU_FWD, sum, NULL, response(b));
}

static void build_grad_weight(struct build *b, enum dnn_pattern pattern) {
    desc_t x = NULL;
    if (pattern == DNN_GRAD_WEIGHT) {
        x = tensor(b, DNN_UID_X, b->in_dims, b->activation);
    } else {
        desc_t normed = scale_bias(b, DNN_UID_X, DNN_UID_SCALE, DNN_UID_BIAS);
        x = pointwise_virtual(b, CUDNN_POINTWISE_RELU_FWD, normed, NULL);
    }
    convolve(b, DNN_GRAD_WEIGHT, x, response(b));
}

static void build_grad_data(struct build *b, enum dnn_pattern pattern) {
    if (pattern == DNN_GRAD_DATA) {
        desc_t dx = tensor(b, DNN_UID_DX, b->in_dims, b->activation);
        convolve(b, DNN_GRAD_DATA, dx, response(b));
        return;
    }
    desc_t gradient = virtual_tensor(b, b->in_dims);
    convolve(b, DNN_GRAD_DATA, gradient, response(b));
    if (pattern != DNN_GRAD_DATA_NORM) {
        desc_t shortcut = tensor(b, DNN_UID_SHORTCUT, b->in_dims, b->activation);
        gradient = pointwise_virtual(b, CUDNN_POINTWISE_ADD, gradient, shortcut);
    }
    struct norm first = norm_operands(b, DNN_UID_NORM);
    struct norm second = {0};
    desc_t input = normalise(b, &first);
    if (pattern == DNN_GRAD_DATA_ADD_JOIN) {
        desc_t residual = tensor(b, DNN_UID_RESIDUAL, b->in_dims, b->activation);
        input = pointwise_virtual(b, CUDNN_POINTWISE_ADD, input, residual);
    } else if (pattern == DNN_GRAD_DATA_ADD_DUAL_JOIN) {
        second = norm_operands(b, DNN_UID_NORM2);
        input = pointwise_virtual(b, CUDNN_POINTWISE_ADD, input, normalise(b, &second));
    }
    desc_t g = relu_grad(b, input, gradient);
    norm_reduction(b, &first, DNN_UID_NORM, DNN_UID_COEFFICIENT, g);
    if (pattern == DNN_GRAD_DATA_ADD_DUAL_JOIN)
        norm_reduction(b, &second, DNN_UID_NORM2, DNN_UID_COEFFICIENT2, g);
}

int dnn_graph_build(struct dnn_graph *g, enum dnn_pattern pattern, const struct dnn_conv *conv,
                    cudnnDataType_t activation, struct error *err) {
    *g = (struct dnn_graph){.next_virtual = DNN_UID_VIRTUAL};
    struct build b = {
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
