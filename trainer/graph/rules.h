/* Private to this room: the rules that the operator table is made of, and small helpers for them.
 */
#ifndef TRAINER_GRAPH_RULES_H
#define TRAINER_GRAPH_RULES_H

#include "common/error.h"
#include "trainer/graph/graph.h"

static inline const struct tensor *rule_input(const struct graph *graph, const struct op *op,
                                              int slot) {
    return op->inputs[slot] == TENSOR_NONE ? NULL : &graph->tensors[op->inputs[slot]];
}

/* A dimension of input SLOT, which is there. */
static inline int64_t rule_dim(const struct graph *graph, const struct op *op, int slot, int axis) {
    return rule_input(graph, op, slot)->shape.dim[axis];
}

/* Fails unless input SLOT is there with this type and shape. */
int rule_expect(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                const struct shape *shape, struct error *err);
static inline int rule_expect_of(const struct graph *graph, const struct op *op, int slot,
                                 enum dtype dtype, struct shape shape, struct error *err) {
    return rule_expect(graph, op, slot, dtype, &shape, err);
}
/* Fails unless input SLOT is there with this type and rank. */
int rule_expect_rank(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                     int rank, struct error *err);

/* shape_conv.c: convolutions, pools, image. */
/* The shape of a convolution of input 0 with input 1, both checked. */
int rule_conv_output(const struct graph *graph, const struct op *op, struct shape *ret_shape,
                     struct error *err);
/* What a window makes of a side of SIZE pixels. */
int64_t shape_window(int64_t size, const struct op_window *window);

/* The rules that the list names: shape_*.c and gradient_*.c. */
typedef int op_shape_rule(struct graph *graph, struct op *op, struct error *err);
typedef int op_gradient_rule(struct graph *graph, int op, struct error *err);
#define OP(kind, label, in, out, rule, back, ...)                                                  \
    op_shape_rule shape_##rule;                                                                    \
    op_gradient_rule gradient_##back;
#include "trainer/graph/ops.def"

#endif
