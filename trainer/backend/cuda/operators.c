#include "trainer/backend/cuda/operators.h"

/* The preprocessor makes the table from graph/ops.def, which names a rule for each kind of operator
 * in its last column. Rules are defined in dnn/, steps/ and optional/ and declared in
 * base/context.h. A kind without a rule names `none`.
 *
 * A new operator needs no change here. */

const struct cuda_rule cuda_none_rule = {NULL, NULL};

static const struct cuda_rule *const rules[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    [OP_##kind] = &cuda_##cuda##_rule,
#include "trainer/graph/ops.def"
};

const struct cuda_rule *cuda_rule(enum op_kind kind) {
    return rules[kind]->bind != NULL ? rules[kind] : NULL;
}
