#include "trainer/backend/cuda/dnn/dnn_ops.h"

#include <stddef.h>

/* cuDNN's graphs are built of descriptors: a tensor has an id, sizes and a type; an operation names
 * its tensors; the graph lists its operations. Every descriptor is made, given its attributes one
 * by one, and finalized, which checks them. All of them are in the graph's pool and live as long as
 * the graph.
 *
 * Failures are kept in struct dnn_build instead of being returned, as a formula of a dozen
 * operations would otherwise be mostly checks. Everything is computed in f32; only tensors in
 * memory have the activation's type. */

typedef cudnnBackendDescriptor_t desc_t;

/* The error itself is in b->err; this only remembers that there is one. */
static void check(struct dnn_build *b, int result) {
    b->failed = b->failed || result != 0;
}

/* Strides are those of NHWC for dimensions in the order N C H W. Arenas align tensors to 64 bytes,
 * so an alignment of 16 is always met; it is what vectorized engines ask for. */
desc_t dnn_op_tensor(struct dnn_build *b, int64_t uid, const int64_t dims[4],
                     cudnnDataType_t type) {
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

/* Each gets the next unused id; nothing refers to it by number. */
desc_t dnn_op_virtual(struct dnn_build *b, const int64_t dims[4]) {
    return dnn_op_tensor(b, b->g->next_virtual++, dims, CUDNN_DATA_FLOAT);
}

/* Height and width of 1 make cuDNN broadcast it over all pixels. */
desc_t dnn_op_channels(struct dnn_build *b, int64_t uid, int64_t channels, cudnnDataType_t type) {
    return dnn_op_tensor(b, uid, (int64_t[4]){1, channels, 1, 1}, type);
}

/* Makes a new operation of TYPE, listed in the graph; finished by finish_op. Also used for
 * descriptors that are parts of an operation, such as a pointwise mode. */
static desc_t new_op(struct dnn_build *b, cudnnBackendDescriptorType_t type, const char *what) {
    desc_t op = NULL;
    if (!b->failed)
        check(b, dnn_new(&b->g->pool, type, what, &op, b->err));
    return op;
}

/* Lists OP in the graph. Its array has room for the longest pattern. Finalizing is where cuDNN
 * checks that all attributes fit together. */
static void finish_op(struct dnn_build *b, desc_t op, const char *what) {
    if (b->failed)
        return;
    check(b, dnn_finalize(op, what, b->err));
    b->g->ops[b->g->op_count++] = op;
}

/* An attribute of an operation that is a tensor or another descriptor. */
struct slot {
    cudnnBackendAttributeName_t name;
    desc_t value;
};

/* Stops at the first failure, like every step of a build. The attribute takes one descriptor
 * each. */
static void set_slots(struct dnn_build *b, desc_t op, const struct slot *slots, size_t count) {
    for (size_t i = 0; i < count && !b->failed; i++)
        check(b, dnn_set_desc(op, slots[i].name, slots[i].value, b->err));
}
#define SET_SLOTS(b, op, ...)                                                                      \
    set_slots(b, op, (const struct slot[]){__VA_ARGS__},                                           \
              sizeof((const struct slot[]){__VA_ARGS__}) / sizeof(struct slot))

/* Cross-correlation is what deep learning calls convolution: the filter is not mirrored. Padding is
 * the same on both sides, and there is no dilation. Rows and columns may have different paddings,
 * but one stride. */
static desc_t conv_descriptor(struct dnn_build *b) {
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

/* The filter or its gradient: O I H W, with the strides of OHWI in memory. A group has only its own
 * share of the input channels. Its id is DNN_UID_W in all passes, whether it is read or written. */
static desc_t filter(struct dnn_build *b) {
    const struct dnn_conv *c = b->conv;
    const int64_t dims[4] = {c->out_channels, dnn_conv_filter_channels(c), c->kernel[0],
                             c->kernel[1]};
    return dnn_op_tensor(b, DNN_UID_W, dims, b->activation);
}

/* The three passes of a convolution have the same operands under different names. IMAGE is the
 * convolution's input or its gradient, RESPONSE the output or its gradient. The table exists
 * because cuDNN names the attributes of each pass differently. */
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

/* alpha 1 and beta 0: the result overwrites its target instead of being added to it. The conv
 * descriptor is a new one for each operation, as a graph has one convolution. */
void dnn_op_convolve(struct dnn_build *b, enum dnn_pattern pattern, desc_t image, desc_t response) {
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

/* Forward it is y, in both gradients dy; its id is DNN_UID_Y in all three. A response has the
 * dimensions of the convolution's output. */
desc_t dnn_op_response(struct dnn_build *b) {
    return dnn_op_tensor(b, DNN_UID_Y, b->out_dims, b->activation);
}

/* MODE with f32 arithmetic, whatever the types of its operands. */
static desc_t pointwise_descriptor(struct dnn_build *b, cudnnPointwiseMode_t mode) {
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

/* The unary mode has no second operand, and setting a NULL descriptor would be an error. */
void dnn_op_pointwise(struct dnn_build *b, cudnnPointwiseMode_t mode, desc_t x, desc_t operand,
                      desc_t y) {
    desc_t d = pointwise_descriptor(b, mode);
    desc_t op = new_op(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise operation");
    SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y});
    if (operand != NULL)
        SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, operand});
    finish_op(b, op, "pointwise operation");
}

/* A virtual result lets an engine keep it in registers. */
desc_t dnn_op_pointwise_of(struct dnn_build *b, const int64_t dims[4], cudnnPointwiseMode_t mode,
                           desc_t x, desc_t operand) {
    desc_t y = dnn_op_virtual(b, dims);
    dnn_op_pointwise(b, mode, x, operand, y);
    return y;
}

/* For tensors of the convolution's input shape, as in all prologues and gradients. Its dimensions
 * are those of the image, not of the response. */
desc_t dnn_op_pointwise_virtual(struct dnn_build *b, cudnnPointwiseMode_t mode, desc_t x,
                                desc_t operand) {
    return dnn_op_pointwise_of(b, b->in_dims, mode, x, operand);
}

/* A norm as two factors per channel, which the engines with this prologue read in the activation's
 * type. The x is in memory, the result is virtual. */
desc_t dnn_op_scale_bias(struct dnn_build *b, int64_t x_uid, int64_t scale_uid, int64_t bias_uid) {
    int64_t channels = b->conv->in_channels;
    desc_t x = dnn_op_tensor(b, x_uid, b->in_dims, b->activation);
    desc_t scale = dnn_op_channels(b, scale_uid, channels, b->activation);
    desc_t bias = dnn_op_channels(b, bias_uid, channels, b->activation);
    desc_t scaled = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_MUL, x, scale);
    return dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, scaled, bias);
}

/* In f32; the norm that follows makes mean and variance of them. cuDNN has one operation for both
 * sums, which engines append to the convolution's end. */
void dnn_op_statistics(struct dnn_build *b, desc_t y) {
    int64_t channels = b->conv->out_channels;
    desc_t sum = dnn_op_channels(b, DNN_UID_SUM, channels, CUDNN_DATA_FLOAT);
    desc_t square_sum = dnn_op_channels(b, DNN_UID_SQUARE_SUM, channels, CUDNN_DATA_FLOAT);
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

/* Statistics and parameters are f32 in every mode; x has the activation's type. BASE is
 * DNN_UID_NORM or DNN_UID_NORM2, to which enum dnn_norm_uid is added. */
struct dnn_norm dnn_op_norm(struct dnn_build *b, int64_t base) {
    int64_t channels = b->conv->in_channels;
    return (struct dnn_norm){
        .x = dnn_op_tensor(b, base + DNN_NORM_X, b->in_dims, b->activation),
        .mean = dnn_op_channels(b, base + DNN_NORM_MEAN, channels, CUDNN_DATA_FLOAT),
        .inv_std = dnn_op_channels(b, base + DNN_NORM_INV_STD, channels, CUDNN_DATA_FLOAT),
        .gamma = dnn_op_channels(b, base + DNN_NORM_GAMMA, channels, CUDNN_DATA_FLOAT),
        .beta = dnn_op_channels(b, base + DNN_NORM_BETA, channels, CUDNN_DATA_FLOAT),
    };
}

/* (x - mean) * inv_std * gamma + beta, in the four operations that cuDNN's engines match. All four
 * results are virtual and so f32. */
desc_t dnn_op_normalise(struct dnn_build *b, const struct dnn_norm *n) {
    desc_t centred = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_SUB, n->x, n->mean);
    desc_t unit = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_MUL, centred, n->inv_std);
    desc_t scaled = dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_MUL, unit, n->gamma);
    return dnn_op_pointwise_virtual(b, CUDNN_POINTWISE_ADD, scaled, n->beta);
}

/* INPUT is the ReLU's argument, recomputed in the same graph. The result is not virtual: weight
 * gradients and the norm's second pass read it. */
desc_t dnn_op_relu_grad(struct dnn_build *b, desc_t input, desc_t gradient) {
    desc_t g = dnn_op_tensor(b, DNN_UID_DX, b->in_dims, b->activation);
    desc_t d = pointwise_descriptor(b, CUDNN_POINTWISE_RELU_BWD);
    desc_t op = new_op(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "ReLU gradient");
    SET_SLOTS(b, op, {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, input},
              {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, gradient},
              {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, g});
    finish_op(b, op, "ReLU gradient");
    return g;
}

/* Writes dgamma, dbeta and three coefficients per channel. step_conv.c does not use the
 * coefficients, as cuDNN does not document them, but the operation has to write them. */
void dnn_op_norm_reduction(struct dnn_build *b, const struct dnn_norm *n, int64_t base,
                           int64_t coefficient, desc_t gradient) {
    int64_t channels = b->conv->in_channels;
    desc_t dgamma = dnn_op_channels(b, base + DNN_NORM_DGAMMA, channels, CUDNN_DATA_FLOAT);
    desc_t dbeta = dnn_op_channels(b, base + DNN_NORM_DBETA, channels, CUDNN_DATA_FLOAT);
    desc_t a = dnn_op_channels(b, coefficient, channels, CUDNN_DATA_FLOAT);
    desc_t x = dnn_op_channels(b, coefficient + 1, channels, CUDNN_DATA_FLOAT);
    desc_t c = dnn_op_channels(b, coefficient + 2, channels, CUDNN_DATA_FLOAT);
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
