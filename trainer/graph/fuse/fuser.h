/* Helpers shared by the fusion patterns; private to this folder. */
#ifndef TRAINER_GRAPH_FUSE_FUSER_H
#define TRAINER_GRAPH_FUSE_FUSER_H

#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

/* A pass over the graph with the number of readers of each tensor. */
struct fuser {
    struct graph *graph;
    const struct backend *backend;
    int *readers; /* per tensor: how many operators read it */
};

void fuser_count_readers(struct fuser *f);
/* Returns the operator of KIND that produces TENSOR as its output 0, if TENSOR has exactly one
 * reader; else NULL. */
struct op *fuser_sole_producer(const struct fuser *f, int tensor, enum op_kind kind);

/* Replaces AT by FUSED and removes the operators that it includes (NULLs are fine), if the backend
 * has it. */
bool fuser_replace(struct fuser *f, struct op *at, const struct op *fused, struct op *first,
                   struct op *second, struct op *third);

static inline bool fuser_supports(const struct fuser *f, const struct op *op) {
    return f->backend->table->supports(f->backend, f->graph, op);
}

/* Records operator NUMBER as the producer of its outputs. */
static inline void fuser_claim_outputs(struct graph *graph, int number) {
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (graph->ops[number].outputs[i] != TENSOR_NONE)
            graph->tensors[graph->ops[number].outputs[i]].producer = number;
}

/* fuse_rpn.c: the pattern that begins at an OP_RPN_LOSS_GRAD. */
bool fuse_rpn_head(struct fuser *f, struct op *loss_grad);

/* fuse_affine.c: fuses a bias or a frozen norm at OP, with everything it includes, with the
 * convolution before it. */
void fuse_affine(struct fuser *f, struct op *op);

/* fuse_grad.c: tries to fuse the data gradient before norm gradient NUMBER with its ReLU mask and
 * the reductions. May insert operators after it. */
int fuse_data_gradient(struct fuser *f, int number, struct error *err);

/* fuse_affine_grad.c: tries to remove the scale from frozen norm gradient NUMBER, and to fuse ReLU
 * mask NUMBER with the data gradient before it. */
int fuse_frozen_gradient(struct fuser *f, int number, struct error *err);
int fuse_relu_gradient(struct fuser *f, int number, struct error *err);

/* fuse_backward.c: tries to fuse the norm gradient's last pass NUMBER with both gradients of the
 * 1x1 convolution that read it. */
int fuse_conv_backward(struct fuser *f, int number, struct error *err);

#endif
