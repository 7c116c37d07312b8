/* The table of what the CUDA backend has: a row a kind of operator, made of graph/ops.def. */
#ifndef TRAINER_BACKEND_CUDA_OPERATORS_H
#define TRAINER_BACKEND_CUDA_OPERATORS_H

#include "trainer/backend/cuda/base/context.h"

/* NULL for a kind that this backend does not have. */
const struct cuda_rule *cuda_rule(enum op_kind kind);

/* Operators as they are on any device; what is not theirs is that of one that is there. */
extern const struct backend_table cuda_table;

#endif
