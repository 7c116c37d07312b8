/* The gradients of tensors while the backward pass is made: what gradient rules read and send. */
#ifndef TRAINER_GRAPH_GRADIENT_GRADIENTS_H
#define TRAINER_GRAPH_GRADIENT_GRADIENTS_H

#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

/* Value in graph->gradient, beside TENSOR_NONE ("no gradient yet"): this tensor depends on no
 * parameter. */
enum { GRADIENT_UNWANTED = -2 };

/* Returns the gradient of TENSOR so far, TENSOR_NONE if there is none: zero. */
int gradients_of(const struct graph *graph, int tensor);
/* Returns true if TENSOR needs a gradient: it is a parameter or depends on one. */
bool gradients_wanted(const struct graph *graph, int tensor);
/* Adds GRADIENT to the gradient of TENSOR, or makes it the first. */
int gradients_send(struct graph *graph, int tensor, int gradient, struct error *err);
/* Replaces the gradient of TENSOR by GRADIENT, which includes what was there so far. */
void gradients_take(struct graph *graph, int tensor, int gradient);
/* Appends a gradient operator of OP, a copy of the forward one. Returns its number or -1; the
 * caller sends each of its outputs. ATTR may point into the graph. */
int gradients_append(struct graph *graph, enum op_kind kind, const struct op *op, const int *inputs,
                     const struct op_attr *attr, struct error *err);
/* The same, and sends output 0 to TENSOR. */
int gradients_append_to(struct graph *graph, enum op_kind kind, const struct op *op,
                        const int *inputs, const struct op_attr *attr, int tensor,
                        struct error *err);

#endif
