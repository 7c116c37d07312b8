/* The gradient rules, by kind of operator (ops.def). */
#ifndef TRAINER_GRAPH_GRADIENT_GRADIENT_TABLE_H
#define TRAINER_GRAPH_GRADIENT_GRADIENT_TABLE_H

#include "trainer/graph/gradient/gradient_rules.h"

/* NULL: nothing flows through KIND. */
op_gradient_rule *gradient_rule(enum op_kind kind);

#endif
