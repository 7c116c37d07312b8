#include "trainer/backend/cpu/operators.h"

const struct cpu_operator cpu_none = {NULL, NULL, NULL};

static const struct cpu_operator *const operators[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    [OP_##kind] = &cpu_##cpu,
#include "trainer/graph/ops.def"
};

const struct cpu_operator *cpu_operator(enum op_kind kind) {
    return operators[kind]->bind != NULL ? operators[kind] : NULL;
}
