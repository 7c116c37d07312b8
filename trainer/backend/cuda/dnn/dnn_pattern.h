/* The terms of cuDNN's operation graphs: patterns, the ids of their tensors, the sizes of a
 * convolution, and the graph itself.
 *
 * Tensors are NHWC in memory; cuDNN needs dimensions in the order N C H W with matching strides.
 * Filters are OHWI in memory. Tensors that the caller must supply at run time have the ids of enum
 * dnn_uid; all others are virtual. Per-channel operands are [1, C, 1, 1]. */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_PATTERN_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_PATTERN_H

#include "trainer/backend/cuda/dnn/dnn.h"

#include <stdbool.h>

enum dnn_pattern {
    DNN_FORWARD,                 /* y = conv(x) */
    DNN_GRAD_DATA,               /* dx = conv'(dy) */
    DNN_GRAD_WEIGHT,             /* dw = conv'(x, dy) */
    DNN_FORWARD_STATS,           /* y = conv(x); sum, square sum of y */
    DNN_NORM_FORWARD_STATS,      /* y = conv(relu(x * scale + bias)); sums */
    DNN_JOIN_FORWARD_STATS,      /* z = relu(x * scale + bias + residual); y = conv(z); sums */
    DNN_DUAL_JOIN_FORWARD_STATS, /* z = relu(x * scale + bias + x2 * scale2 + bias2); the same */
    DNN_FORWARD_BIAS,            /* y = conv(x) + bias */
    DNN_FORWARD_BIAS_RELU,       /* y = relu(conv(x) + bias) */
    DNN_FORWARD_BIAS_ADD_RELU,   /* y = relu(conv(x) + residual + bias) */
    DNN_NORM_GRAD_WEIGHT,        /* dw = conv'(relu(x * scale + bias), dy) */
    DNN_GRAD_DATA_NORM,          /* g = conv'(dy) * relu'(bn(xn)); batch-norm reductions of g */
    DNN_GRAD_DATA_ADD_NORM,      /* g = (conv'(dy) + shortcut) * relu'(bn(xn)); reductions */
    DNN_GRAD_DATA_ADD_JOIN,      /* g = (conv'(dy) + shortcut) * relu'(bn(xn) + residual); ... */
    DNN_GRAD_DATA_ADD_DUAL_JOIN, /* the same with bn(xn2) in place of the residual; two reductions
                                  */
    DNN_PATTERN_COUNT
};

enum dnn_uid {
    DNN_UID_X = 1,
    DNN_UID_W,
    DNN_UID_Y, /* the convolution's output, forward; dy backward */
    DNN_UID_DX,
    DNN_UID_SUM,
    DNN_UID_SQUARE_SUM,
    DNN_UID_SCALE,
    DNN_UID_BIAS,
    DNN_UID_X2, /* the second branch of a dual join */
    DNN_UID_SCALE2,
    DNN_UID_BIAS2,
    DNN_UID_RESIDUAL, /* shaped as the convolution's input, or as y if it is added to y */
    DNN_UID_JOIN,     /* z, written to memory */
    DNN_UID_SHORTCUT,
    DNN_UID_NORM = 32,        /* operands of the batch norm of xn: + enum dnn_norm_uid, and */
    DNN_UID_NORM2 = 40,       /* those of the second branch */
    DNN_UID_COEFFICIENT = 48, /* + 0 dy scale, + 1 x scale, + 2 bias of dx = a dy + b x + c */
    DNN_UID_COEFFICIENT2 = 52,
    DNN_UID_VIRTUAL = 64 /* from here on: never in memory */
};

/* Operands of a batch norm in a backward pattern, added to DNN_UID_NORM or DNN_UID_NORM2. */
enum dnn_norm_uid {
    DNN_NORM_X,
    DNN_NORM_MEAN,
    DNN_NORM_INV_STD,
    DNN_NORM_GAMMA,
    DNN_NORM_BETA,
    DNN_NORM_DGAMMA,
    DNN_NORM_DBETA,
};

/* One convolution. Height and width are the input's; kernels and paddings are of rows and of
 * columns, and a group has in_channels / groups inputs. cuDNN takes the number of groups from the
 * channels of input and filter. */
struct dnn_conv {
    int64_t batch, height, width, in_channels, out_channels;
    int64_t kernel[2], stride, padding[2], groups;
};

/* Height (AXIS 0) or width of the output. */
static inline int64_t dnn_conv_output(const struct dnn_conv *conv, int axis) {
    const int64_t input = axis == 0 ? conv->height : conv->width;
    return (input + 2 * conv->padding[axis] - conv->kernel[axis]) / conv->stride + 1;
}
/* Inputs that an output reads: a filter's channels. */
static inline int64_t dnn_conv_filter_channels(const struct dnn_conv *conv) {
    return conv->in_channels / conv->groups;
}

/* A graph, built or half-built. It owns the descriptors in its pool. */
struct dnn_graph {
    struct dnn_pool pool;
    cudnnBackendDescriptor_t ops[16];
    int op_count;
    int64_t next_virtual;
    cudnnBackendDescriptor_t graph;
};

#endif
