/* Gradient rules that the list of operators names (ops.def).
 *
 * Each is in a gradient_*.c; backward.c has the table of them. */
#ifndef TRAINER_GRAPH_GRADIENT_GRADIENT_RULES_H
#define TRAINER_GRAPH_GRADIENT_GRADIENT_RULES_H

#include "common/error.h"
#include "trainer/graph/graph.h"

/* Adds the operators that carry the gradients of operator OP's outputs to its inputs
 * (gradients.h). */
typedef int op_gradient_rule(struct graph *graph, int op, struct error *err);

#define OP(kind, label, in, out, rule, back, ...) op_gradient_rule gradient_##back;
#include "trainer/graph/ops.def"

#endif
