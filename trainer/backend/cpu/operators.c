#include "cpu/context.h"

const struct cpu_operator cpu_none = {NULL, NULL, NULL};

static const struct cpu_operator *const operators[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    [OP_##kind] = &cpu_##cpu,
#include "graph/ops.def"
};

const struct cpu_operator *cpu_operator(enum op_kind kind) {
    return operators[kind]->bind != NULL ? operators[kind] : NULL;
}

int cpu_query_in_place(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)graph;
    (void)op;
    (void)err;
    ret_needs->in_place = true;
    return 0;
}
