/* Private to this room: what the fusion patterns share. */
#ifndef TRAINER_GRAPH_FUSE_FUSER_H
#define TRAINER_GRAPH_FUSE_FUSER_H

#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

/* A pass over the graph with the readers of every tensor at hand. */
struct fuser {
    struct graph *graph;
    const struct backend *backend;
    int *readers; /* per tensor: how many operators read it */
};

void fuser_count_readers(struct fuser *f);
/* The operator of KIND that makes TENSOR as its output 0, if it makes it for one reader alone; else
 * NULL. */
struct op *fuser_only_for_one(const struct fuser *f, int tensor, enum op_kind kind);

/* Puts FUSED in the place of AT and removes the operators it swallowed (NULLs are fine), if the
 * backend has it. */
bool fuser_replace(struct fuser *f, struct op *at, const struct op *fused, struct op *first,
                   struct op *second, struct op *third);

static inline bool fuser_supports(const struct fuser *f, const struct op *op) {
    return f->backend->table->supports(f->backend, f->graph, op);
}

/* Notes in the tensors who makes the outputs of operator NUMBER. */
static inline void fuser_claim_outputs(struct graph *graph, int number) {
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (graph->ops[number].outputs[i] != TENSOR_NONE)
            graph->tensors[graph->ops[number].outputs[i]].producer = number;
}

/* fuse_rpn.c: the pattern that begins at an OP_RPN_LOSS_GRAD. */
bool fuse_rpn_head(struct fuser *f, struct op *loss_grad);

/* fuse_affine.c: a bias or a frozen norm at OP, with all that it does, goes into the convolution in
 * front of it. */
void fuse_affine(struct fuser *f, struct op *op);

/* fuse_grad.c: tries to put the data gradient in front of norm gradient NUMBER, its ReLU mask and
 * the reductions into one operator. May insert operators behind it. */
int fuse_data_gradient(struct fuser *f, int number, struct error *err);

/* fuse_affine_grad.c: tries to take the scale out of frozen norm gradient NUMBER, and to put ReLU
 * mask NUMBER into the data gradient in front of it. */
int fuse_frozen_gradient(struct fuser *f, int number, struct error *err);
int fuse_relu_gradient(struct fuser *f, int number, struct error *err);

/* fuse_backward.c: tries to put the norm gradient's last pass NUMBER and both gradients of the 1x1
 * convolution that reads it into one operator. */
int fuse_conv_backward(struct fuser *f, int number, struct error *err);

#endif
