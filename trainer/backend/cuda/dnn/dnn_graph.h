/* Operation graphs for cuDNN: the convolutions of a training step with the operators fused around
 * them.
 *
 * A pattern is one such graph. The patterns with precompiled kernels on an architecture determine
 * the fusion level: the plain three are L0 and L1, those with statistics L2, those with the
 * normalization prologue or the batch norm reduction epilogue L3, the joins L3+. Those with a bias
 * are for networks with frozen norms. */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_GRAPH_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_GRAPH_H

#include "trainer/backend/cuda/dnn/dnn_pattern.h"

const char *dnn_pattern_name(enum dnn_pattern pattern);

/* Returns false if the form has no meaning, as joins before a strided convolution, or none of
 * cuDNN's engines: groups are for the plain passes. */
bool dnn_pattern_applies(enum dnn_pattern pattern, const struct dnn_conv *conv);

/* Builds and finalizes the operation graph; ACTIVATION is CUDNN_DATA_HALF, _BFLOAT16 or _FLOAT.
 * Filter gradients have the activation's type: no precompiled engine of cuDNN 9.19 writes f32 from
 * half-precision inputs. dnn_graph_done() is safe on a half-built graph. */
int dnn_graph_build(struct dnn_graph *g, enum dnn_pattern pattern, const struct dnn_conv *conv,
                    cudnnDataType_t activation, struct error *err);
void dnn_graph_done(struct dnn_graph *g);

#endif
