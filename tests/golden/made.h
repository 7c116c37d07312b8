/* What operators of a program make, looked at while it runs (program_hooks.after_step). */
#ifndef TESTS_GOLDEN_MADE_H
#define TESTS_GOLDEN_MADE_H

#include "trainer/graph/program/program.h"

#include <stdbool.h>

/* Where TENSOR lies on a backend whose memory is the host's; NULL: nowhere of the program's own. */
static inline void *made_by(const struct program *p, int tensor) {
    int block = p->plan.tensor_block[tensor];
    return block < 0 ? program_address(p, tensor)
                     : (char *)p->memory->arena + p->plan.blocks[block].offset;
}

/* Whether what OP makes has a ReLU before it. */
static inline bool rectifies(const struct op *op) {
    return op->kind == OP_RELU || (op->forward < 0 && op->attr.relu);
}

#endif
