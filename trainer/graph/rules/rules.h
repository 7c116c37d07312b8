/* Shape rules of the operators, private to this room. The operator table is made of them. Here are
 * also the helpers that they share. */
#ifndef TRAINER_GRAPH_RULES_RULES_H
#define TRAINER_GRAPH_RULES_RULES_H

#include "common/error.h"
#include "trainer/graph/graph.h"

static inline const struct tensor *rule_input(const struct graph *graph, const struct op *op,
                                              int slot) {
    return op->inputs[slot] == TENSOR_NONE ? NULL : &graph->tensors[op->inputs[slot]];
}

/* Returns a dimension of input SLOT, which must be present. */
static inline int64_t rule_dim(const struct graph *graph, const struct op *op, int slot, int axis) {
    return rule_input(graph, op, slot)->shape.dim[axis];
}

/* Fails unless input SLOT is present with this type and shape. */
int rule_expect(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                const struct shape *shape, struct error *err);
static inline int rule_expect_of(const struct graph *graph, const struct op *op, int slot,
                                 enum dtype dtype, struct shape shape, struct error *err) {
    return rule_expect(graph, op, slot, dtype, &shape, err);
}
/* Fails unless input SLOT is present with this type and rank. */
int rule_expect_rank(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                     int rank, struct error *err);

/* Fails unless WINDOW is one and fits into X. */
int rule_check_window(const struct op_window *window, const struct shape *x, struct error *err);
/* The same for a pool; its windows are square. */
int rule_check_pool(const struct op_window *window, const struct shape *x, struct error *err);
/* Returns the output shape of a window over X with CHANNELS channels. */
struct shape rule_window_output(const struct shape *x, const struct op_window *window,
                                int64_t channels);
/* Fails unless W [O,KH,KW,I] fits a picture X; of one group, channels of X beyond I are padding. */
int rule_check_weights(const struct op_window *window, const struct shape *x, const struct shape *w,
                       struct error *err);
/* Computes the output shape of a convolution of input 0 with input 1, both checked. */
int rule_conv_output(const struct graph *graph, const struct op *op, struct shape *ret_shape,
                     struct error *err);

/* The shape rules that the list names: shape_*.c. */
typedef int op_shape_rule(struct graph *graph, struct op *op, struct error *err);
#define OP(kind, label, in, out, rule, ...) op_shape_rule shape_##rule;
#include "trainer/graph/ops.def"

#endif
