#include "trainer/backend/cpu/operators.h"

/* The preprocessor makes the table from graph/ops.def, which names a row for each kind of operator.
 * Rows are defined by the operators in dense/, conv/ and detect/ and declared in base/context.h. A
 * kind without a row names `none`.
 *
 * A new operator needs no change here. */

const struct cpu_operator cpu_none = {NULL, NULL, NULL};

static const struct cpu_operator *const operators[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    [OP_##kind] = &cpu_##cpu,
#include "trainer/graph/ops.def"
};

const struct cpu_operator *cpu_operator(enum op_kind kind) {
    return operators[kind]->bind != NULL ? operators[kind] : NULL;
}
