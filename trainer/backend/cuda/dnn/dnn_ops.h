/* Operations of a graph for cuDNN, from which dnn_graph.c builds its patterns.
 *
 * Each function adds one or more operations and returns the descriptor of their result, which the
 * graph's pool owns. After a failure in a build all of them do nothing and return NULL. Ids are
 * those of enum dnn_uid. */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_OPS_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_OPS_H

#include "trainer/backend/cuda/dnn/dnn_pattern.h"

/* State shared by the steps of one build. The first failure is kept and later steps do nothing, so
 * that a pattern reads like its formula. */
struct dnn_build {
    struct dnn_graph *g;
    const struct dnn_conv *conv;
    cudnnDataType_t activation;
    int64_t in_dims[4];  /* N C H W of the convolution's input */
    int64_t out_dims[4]; /* and of its output */
    bool failed;
    struct error *err;
};

/* A tensor in memory, or a virtual one if UID is DNN_UID_VIRTUAL or greater. */
cudnnBackendDescriptor_t dnn_op_tensor(struct dnn_build *b, int64_t uid, const int64_t dims[4],
                                       cudnnDataType_t type);
/* Values that never reach memory are f32: an engine that honours the type must not round them. */
cudnnBackendDescriptor_t dnn_op_virtual(struct dnn_build *b, const int64_t dims[4]);
/* One value for each channel, [1, C, 1, 1]. */
cudnnBackendDescriptor_t dnn_op_channels(struct dnn_build *b, int64_t uid, int64_t channels,
                                         cudnnDataType_t type);
/* The convolution's output, or its gradient. */
cudnnBackendDescriptor_t dnn_op_response(struct dnn_build *b);

/* One of the three plain passes. IMAGE is the convolution's input or its gradient. */
void dnn_op_convolve(struct dnn_build *b, enum dnn_pattern pattern, cudnnBackendDescriptor_t image,
                     cudnnBackendDescriptor_t response);

/* y = x MODE operand; OPERAND is NULL for RELU_FWD. */
void dnn_op_pointwise(struct dnn_build *b, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
                      cudnnBackendDescriptor_t operand, cudnnBackendDescriptor_t y);
/* The same with a new virtual y, of DIMS or of the input's dimensions. */
cudnnBackendDescriptor_t dnn_op_pointwise_of(struct dnn_build *b, const int64_t dims[4],
                                             cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
                                             cudnnBackendDescriptor_t operand);
cudnnBackendDescriptor_t dnn_op_pointwise_virtual(struct dnn_build *b, cudnnPointwiseMode_t mode,
                                                  cudnnBackendDescriptor_t x,
                                                  cudnnBackendDescriptor_t operand);
/* x * scale + bias with per-channel operands of the activation's type. */
cudnnBackendDescriptor_t dnn_op_scale_bias(struct dnn_build *b, int64_t x_uid, int64_t scale_uid,
                                           int64_t bias_uid);
/* Sums and square sums of Y per channel. */
void dnn_op_statistics(struct dnn_build *b, cudnnBackendDescriptor_t y);

/* A batch norm that has its normalized value recomputed in the backward pass. */
struct dnn_norm {
    cudnnBackendDescriptor_t x, mean, inv_std, gamma, beta;
};

/* The operands with ids from BASE on. */
struct dnn_norm dnn_op_norm(struct dnn_build *b, int64_t base);
/* The normalized value of n->x. */
cudnnBackendDescriptor_t dnn_op_normalise(struct dnn_build *b, const struct dnn_norm *n);
/* g = gradient where the ReLU's input was positive; written to memory. */
cudnnBackendDescriptor_t dnn_op_relu_grad(struct dnn_build *b, cudnnBackendDescriptor_t input,
                                          cudnnBackendDescriptor_t gradient);
/* The norm's parameter gradients from GRADIENT, and coefficients with ids from COEFFICIENT on. */
void dnn_op_norm_reduction(struct dnn_build *b, const struct dnn_norm *n, int64_t base,
                           int64_t coefficient, cudnnBackendDescriptor_t gradient);

#endif
