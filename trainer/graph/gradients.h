/* Reverse-mode differentiation on the graph: the gradient of every operator is more operators, so
 * the backward pass is fused, planned and tested by the same code as the forward pass.
 *
 * The operators are walked from last to first; each one's rule adds operators that turn the
 * gradients of its outputs into gradients of its inputs. A tensor with several readers gets the sum
 * of what they send, by OP_ADD, in the order of the walk. Gradients of parameters become tensors of
 * role TENSOR_GRADIENT. What leads to no parameter gets none. */
#ifndef GRAPH_GRADIENTS_H
#define GRAPH_GRADIENTS_H

#include "common/error.h"
#include "graph/graph.h"

/* Adds the backward pass of graph->loss. */
int graph_add_gradients(struct graph *graph, struct error *err);

/* --- for gradient rules ----------------------------------------------------------------------- */
/* The gradient of TENSOR so far, TENSOR_NONE if nothing flows. */
int gradients_of(const struct graph *graph, int tensor);
/* Whether anybody wants the gradient of TENSOR: it is a parameter or depends on one. */
bool gradients_wanted(const struct graph *graph, int tensor);
/* GRADIENT flows to TENSOR: kept, or added to what is there. */
int gradients_send(struct graph *graph, int tensor, int gradient, struct error *err);

#endif
