#include "tests/cuda/shadow.h"

#include "tests/ops/parity.h"
#include "trainer/graph/graph.h"

#include <stdlib.h>

struct shadow {
    struct backend *ref;
    struct op op;
    struct backend_bound bound;
    void *scratch;
    struct tensor tensors[OP_OUTPUTS_MAX];
    const void *own[OP_OUTPUTS_MAX];
    void *outputs[OP_OUTPUTS_MAX];
};

static int bind(struct shadow *s, const struct graph *graph, const struct op_addresses *addresses,
                struct error *err) {
    struct backend_needs needs = {0};
    struct op_addresses other = *addresses;
    other.outputs = s->outputs;
    if (s->ref->table->query(s->ref, graph, &s->op, &needs, err) != 0)
        return -1;
    s->scratch = other.scratch = calloc(1, needs.scratch + 1);
    if (s->scratch == NULL)
        return error_no_memory(err, "a second opinion");
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (s->op.outputs[i] == TENSOR_NONE)
            continue;
        s->tensors[i] = graph->tensors[s->op.outputs[i]];
        s->own[i] = addresses->outputs[i];
        s->outputs[i] = calloc(1, tensor_bytes(&s->tensors[i]) + 1);
        if (s->outputs[i] == NULL)
            return error_no_memory(err, "a second opinion");
    }
    return s->ref->table->bind(s->ref, graph, &s->op, &other, &s->bound, err);
}

struct shadow *shadow_bind(struct backend *ref, const struct graph *graph, const struct op *op,
                           const struct op_addresses *addresses, struct error *err) {
    struct shadow *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        (void)error_no_memory(err, "a second opinion");
        return NULL;
    }
    s->ref = ref;
    s->op = *op;
    if (bind(s, graph, addresses, err) == 0)
        return s;
    shadow_done(s);
    return NULL;
}

int shadow_run(struct shadow *shadow, struct error *err) {
    return shadow->bound.step.run(shadow->bound.step.context, err);
}

double shadow_error(const struct shadow *shadow) {
    double worst = 0;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (shadow->outputs[i] == NULL)
            continue;
        double error = parity_error(&shadow->tensors[i], shadow->own[i], shadow->outputs[i]);
        worst = error > worst ? error : worst;
    }
    return worst;
}

const struct op *shadow_op(const struct shadow *shadow) {
    return &shadow->op;
}

void shadow_done(struct shadow *shadow) {
    if (shadow == NULL)
        return;
    if (shadow->bound.step.context != NULL)
        shadow->ref->table->release(shadow->ref, shadow->bound.step.context);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        free(shadow->outputs[i]);
    free(shadow->scratch);
    free(shadow);
}
