#include "trainer/backend/cuda/operators.h"

const struct cuda_rule cuda_none_rule = {NULL, NULL};

static const struct cuda_rule *const rules[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    [OP_##kind] = &cuda_##cuda##_rule,
#include "trainer/graph/ops.def"
};

const struct cuda_rule *cuda_rule(enum op_kind kind) {
    return rules[kind]->bind != NULL ? rules[kind] : NULL;
}
