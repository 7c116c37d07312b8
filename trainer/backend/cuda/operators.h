/* Table of the CUDA backend's operators: one row per kind, generated from graph/ops.def. */
#ifndef TRAINER_BACKEND_CUDA_OPERATORS_H
#define TRAINER_BACKEND_CUDA_OPERATORS_H

#include "trainer/backend/cuda/base/context.h"

/* Returns NULL for a kind that this backend lacks. */
const struct cuda_rule *cuda_rule(enum op_kind kind);

/* Functions for operators on any device; the others are those of a real device. */
extern const struct backend_table cuda_table;

#endif
