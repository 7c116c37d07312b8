#include "trainer/graph/fuse/fuser.h"

#include <string.h>

void fuser_count_readers(struct fuser *f) {
    memset(f->readers, 0, (size_t)f->graph->tensor_count * sizeof(*f->readers));
    for (int i = 0; i < f->graph->op_count; i++) {
        const struct op *op = &f->graph->ops[i];
        for (int k = 0; k < OP_READS_MAX && op->kind != OP_KINDS; k++)
            if (op_reads(op, k) != TENSOR_NONE)
                f->readers[op_reads(op, k)]++;
    }
}

struct op *fuser_sole_producer(const struct fuser *f, int tensor, enum op_kind kind) {
    if (tensor == TENSOR_NONE)
        return NULL;
    const struct tensor *t = &f->graph->tensors[tensor];
    if (t->role != TENSOR_ACTIVATION || t->producer < 0 || f->readers[tensor] != 1)
        return NULL;
    struct op *op = &f->graph->ops[t->producer];
    return op->kind == kind && op->outputs[0] == tensor ? op : NULL;
}

bool fuser_replace(struct fuser *f, struct op *at, const struct op *fused, struct op *first,
                   struct op *second, struct op *third) {
    if (!f->backend->table->supports(f->backend, f->graph, fused))
        return false;
    struct op *swallowed[] = {first, second, third};
    for (size_t i = 0; i < sizeof(swallowed) / sizeof(swallowed[0]); i++)
        if (swallowed[i] != NULL)
            swallowed[i]->kind = OP_KINDS;
    *at = *fused;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (fused->outputs[i] != TENSOR_NONE)
            f->graph->tensors[fused->outputs[i]].producer = (int)(at - f->graph->ops);
    fuser_count_readers(f);
    return true;
}
