#include "trainer/graph/gradient/gradient_table.h"

#define gradient_none NULL

static op_gradient_rule *const rules[OP_KINDS] = {
#define OP(kind, label, in, out, shape, back, ...) [OP_##kind] = gradient_##back,
#include "trainer/graph/ops.def"
};

op_gradient_rule *gradient_rule(enum op_kind kind) {
    return rules[kind];
}
