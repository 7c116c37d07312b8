/* The gradients of tensors while the backward pass is made: what gradient rules read and send. */
#ifndef TRAINER_GRAPH_GRADIENT_GRADIENTS_H
#define TRAINER_GRAPH_GRADIENT_GRADIENTS_H

#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

/* In graph->gradient beside TENSOR_NONE ("nothing yet"): no parameter lies behind this tensor. */
enum { GRADIENT_UNWANTED = -2 };

/* The gradient of TENSOR so far, TENSOR_NONE if nothing flows: zero. */
int gradients_of(const struct graph *graph, int tensor);
/* Whether anybody wants the gradient of TENSOR: it is a parameter or depends on one. */
bool gradients_wanted(const struct graph *graph, int tensor);
/* GRADIENT flows to TENSOR: kept, or added to what is there. */
int gradients_send(struct graph *graph, int tensor, int gradient, struct error *err);
/* GRADIENT holds what had come to TENSOR so far, and takes its place. */
void gradients_take(struct graph *graph, int tensor, int gradient);
/* Appends a gradient operator of OP, a copy of the forward one. Returns its number or -1; what it
 * makes is sent one by one. ATTR may lie in the graph. */
int gradients_append(struct graph *graph, enum op_kind kind, const struct op *op, const int *inputs,
                     const struct op_attr *attr, struct error *err);
/* The same, and sends output 0 to TENSOR. */
int gradients_append_to(struct graph *graph, enum op_kind kind, const struct op *op,
                        const int *inputs, const struct op_attr *attr, int tensor,
                        struct error *err);

#endif
