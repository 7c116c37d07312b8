/* Results of a program's operators, looked at while it runs.
 *
 * They are seen by program_hooks.after_step. */
#ifndef TESTS_GOLDEN_MADE_H
#define TESTS_GOLDEN_MADE_H

#include "trainer/graph/program/program.h"

#include <stdbool.h>

/* The address of TENSOR on a backend that uses the host's memory; NULL: the program has no memory
 * of its own for it. */
static inline void *made_by(const struct program *p, int tensor) {
    int block = p->plan.tensor_block[tensor];
    return block < 0 ? program_address(p, tensor)
                     : (char *)p->memory->arena + p->plan.blocks[block].offset;
}

/* Returns whether the output of OP comes from a ReLU: from OP itself or one fused into it. */
static inline bool rectifies(const struct op *op) {
    return op->kind == OP_RELU || (op->forward < 0 && op->attr.relu);
}

#endif
