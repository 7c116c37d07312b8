#include "trainer/graph/op.h"

static const char *const names[OP_KINDS] = {
#define OP(kind, label, ...) [OP_##kind] = #label,
#include "trainer/graph/ops.def"
};

const char *op_name(enum op_kind kind) {
    return names[kind];
}

enum pointwise op_pointwise(enum op_kind kind) {
    switch (kind) {
#define CASE(name, ...)                                                                            \
    case OP_##name:                                                                                \
        return POINTWISE_##name;
        POINTWISE(CASE)
    default:
        return POINTWISE_KINDS;
    }
}

bool op_updates(enum op_kind kind, int slot) {
    if (kind == OP_NORM_FINALIZE)
        return slot == NORM_FINALIZE_MEAN || slot == NORM_FINALIZE_VARIANCE;
    if (kind != OP_BATCH_NORM)
        return false;
    return slot == NORM_MEAN || slot == NORM_VARIANCE || slot == NORM_MEAN2 ||
           slot == NORM_VARIANCE2;
}
