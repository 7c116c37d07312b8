/* Reverse-mode differentiation on the graph. The gradient of an operator is more operators, so the
 * backward pass is fused, planned and tested by the same code as the forward pass.
 *
 * Operators are visited from last to first. The rule of a loss, and of each operator with a
 * gradient for any of its outputs, adds operators that compute the gradients of its inputs from
 * those of its outputs. The gradients of a tensor with several readers are summed by OP_ADD, in
 * the order of the visit. Gradients of parameters become tensors with role TENSOR_GRADIENT.
 * Tensors that depend on no parameter get none. */
#ifndef TRAINER_GRAPH_GRADIENT_BACKWARD_H
#define TRAINER_GRAPH_GRADIENT_BACKWARD_H

#include "common/error.h"
#include "trainer/graph/gradient/gradient_rules.h"
#include "trainer/graph/graph.h"

/* Returns the gradient rule of KIND (ops.def); NULL: nothing flows through it. */
op_gradient_rule *gradient_rule(enum op_kind kind);

/* Adds the backward pass of the graph's losses. */
int graph_add_gradients(struct graph *graph, struct error *err);

#endif
