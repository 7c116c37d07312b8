/* Table of the CPU backend's operators: one row per kind, generated from graph/ops.def. */
#ifndef TRAINER_BACKEND_CPU_OPERATORS_H
#define TRAINER_BACKEND_CPU_OPERATORS_H

#include "trainer/backend/cpu/base/context.h"

/* Returns NULL for an operator that this backend lacks. */
const struct cpu_operator *cpu_operator(enum op_kind kind);

#endif
