/* The table of what the CPU backend has: a row a kind of operator, made of graph/ops.def. */
#ifndef TRAINER_BACKEND_CPU_OPERATORS_H
#define TRAINER_BACKEND_CPU_OPERATORS_H

#include "trainer/backend/cpu/base/context.h"

/* NULL where this backend does not have the operator. */
const struct cpu_operator *cpu_operator(enum op_kind kind);

#endif
