/* The gradient rules, by kind of operator (ops.def). */
#ifndef TRAINER_GRAPH_GRADIENT_GRADIENT_TABLE_H
#define TRAINER_GRAPH_GRADIENT_GRADIENT_TABLE_H

#include "common/error.h"
#include "trainer/graph/graph.h"

/* Adds the operators that carry the gradients of operator OP's outputs to its inputs
 * (gradients.h). */
typedef int op_gradient_rule(struct graph *graph, int op, struct error *err);

/* NULL: nothing flows through KIND. */
op_gradient_rule *gradient_rule(enum op_kind kind);

/* The rules that the list names: gradient_*.c. */
#define OP(kind, label, in, out, rule, back, ...) op_gradient_rule gradient_##back;
#include "trainer/graph/ops.def"

#endif
