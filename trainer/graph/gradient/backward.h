/* Reverse-mode differentiation on the graph: the gradient of every operator is more operators, so
 * the backward pass is fused, planned and tested by the same code as the forward pass.
 *
 * The operators are walked from last to first; the rule of a loss, and of each operator that got a
 * gradient for any of its outputs, adds operators that turn the gradients of its outputs into
 * gradients of its inputs. A tensor with several readers gets the sum of what they send, by OP_ADD,
 * in the order of the walk. Gradients of parameters become tensors of
 * role TENSOR_GRADIENT. What leads to no parameter gets none. */
#ifndef TRAINER_GRAPH_GRADIENT_BACKWARD_H
#define TRAINER_GRAPH_GRADIENT_BACKWARD_H

#include "common/error.h"
#include "trainer/graph/graph.h"

/* Adds the backward pass of the graph's losses. */
int graph_add_gradients(struct graph *graph, struct error *err);

#endif
