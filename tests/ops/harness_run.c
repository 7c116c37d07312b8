/* Running one operator of a row's graph, with the backend's own memory. */
#include "tests/ops/harness.h"

#include "tests/support/unit.h"
#include "trainer/graph/rules/op_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guard bytes after each block of host memory, which nothing may write. */
enum { FENCE = 256, FENCE_BYTE = 0xff };

/* The backend's memory for one operator. */
struct memory {
    struct backend *backend;
    void *in[OP_INPUTS_MAX], *out[OP_OUTPUTS_MAX];
    size_t in_bytes[OP_INPUTS_MAX], out_bytes[OP_OUTPUTS_MAX];
    bool borrowed[OP_OUTPUTS_MAX]; /* the place of an input */
    void *scratch, *saved, *packed, *rows;
    struct backend_needs needs;
    struct backend_bound bound;
};

static size_t fence_of(const struct backend *backend) {
    return backend->table->device == NULL ? FENCE : 0;
}

static int allocate(struct backend *backend, void **memory, size_t bytes, struct error *err) {
    const size_t fence = fence_of(backend);
    if (bytes == 0)
        return 0;
    *memory = backend->table->alloc(backend, bytes + fence, err);
    if (*memory == NULL)
        return -1;
    if (fence > 0)
        memset((char *)*memory + bytes, FENCE_BYTE, fence);
    return 0;
}

static void give_back(struct backend *backend, void *memory, size_t bytes) {
    if (memory != NULL)
        backend->table->free(backend, memory, bytes + fence_of(backend));
}

static void check_fence(const struct backend *backend, const void *memory, size_t bytes,
                        const char *what) {
    const unsigned char *fence = (const unsigned char *)memory + bytes;
    for (size_t i = 0; memory != NULL && i < fence_of(backend); i++)
        if (fence[i] != FENCE_BYTE) {
            printf("%s: byte %zu behind %s was written\n", backend->table->name, i, what);
            CU_FAIL("an operator writes behind its memory");
            return;
        }
}

static void check_fences(const struct memory *m) {
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        check_fence(m->backend, m->in[i], m->in_bytes[i], "an input");
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        check_fence(m->backend, m->out[i], m->out_bytes[i], "an output");
    check_fence(m->backend, m->scratch, m->needs.scratch, "scratch");
    check_fence(m->backend, m->packed, m->needs.packed, "what is packed");
    check_fence(m->backend, m->saved, m->needs.saved, "what is saved");
}

static void memory_done(struct memory *m) {
    const struct backend_table *table = m->backend->table;
    if (m->bound.step.context != NULL)
        table->release(m->backend, m->bound.step.context);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        give_back(m->backend, m->in[i], m->in_bytes[i]);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        give_back(m->backend, m->borrowed[i] ? NULL : m->out[i], m->out_bytes[i]);
    give_back(m->backend, m->scratch, m->needs.scratch);
    give_back(m->backend, m->rows, sizeof(int32_t));
    give_back(m->backend, m->packed, m->needs.packed);
    give_back(m->backend, m->saved, m->needs.saved);
}

/* Memory is as the step before left it: an element that nobody writes is no number. */
static int spoil(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    void *spoiled = malloc(bytes + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spoiled);
    memset(spoiled, 0xff, bytes);
    int status = bytes == 0 ? 0 : backend->table->copy_in(backend, memory, spoiled, bytes, err);
    free(spoiled);
    return status;
}

static void borrow_places(const struct op *op, struct memory *m) {
    const struct op_rule *rule = op_rule(op->kind);
    for (int i = 0; i < rule->in_place_count; i++) {
        int output = rule->in_place[i].output, input = rule->in_place[i].input;
        if (!op_may_place(op, &rule->in_place[i]) || m->borrowed[output] ||
            op->outputs[output] == TENSOR_NONE || m->in[input] == NULL ||
            m->in_bytes[input] != m->out_bytes[output])
            continue;
        give_back(m->backend, m->out[output], m->out_bytes[output]);
        m->out[output] = m->in[input];
        m->borrowed[output] = true;
    }
}

static int prepare(struct op_graph *g, const struct op *op, struct memory *m, struct error *err) {
    const struct graph *graph = &g->graph;
    const struct backend_table *table = m->backend->table;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        if (op->inputs[i] == TENSOR_NONE)
            continue;
        m->in_bytes[i] = tensor_bytes(&graph->tensors[op->inputs[i]]);
        if (allocate(m->backend, &m->in[i], m->in_bytes[i], err) != 0 ||
            table->copy_in(m->backend, m->in[i], g->value[op->inputs[i]], m->in_bytes[i], err) != 0)
            return -1;
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (op->outputs[i] == TENSOR_NONE)
            continue;
        m->out_bytes[i] = tensor_bytes(&graph->tensors[op->outputs[i]]);
        if (allocate(m->backend, &m->out[i], m->out_bytes[i], err) != 0 ||
            spoil(m->backend, m->out[i], m->out_bytes[i], err) != 0)
            return -1;
    }
    if (op->rows != TENSOR_NONE &&
        (allocate(m->backend, &m->rows, sizeof(int32_t), err) != 0 ||
         table->copy_in(m->backend, m->rows, g->value[op->rows], sizeof(int32_t), err) != 0))
        return -1;
    if (table->query(m->backend, graph, op, &m->needs, err) != 0)
        return -1;
    if (op->forward >= 0)
        m->needs.saved = g->saved_bytes;
    if (allocate(m->backend, &m->scratch, m->needs.scratch, err) != 0 ||
        spoil(m->backend, m->scratch, m->needs.scratch, err) != 0 ||
        allocate(m->backend, &m->packed, m->needs.packed, err) != 0)
        return -1;
    return allocate(m->backend, &m->saved, m->needs.saved, err) == 0
               ? spoil(m->backend, m->saved, m->needs.saved, err)
               : -1;
}

/* Carries what the forward operator saved to its gradients, by way of host memory. */
static int carry_saved(struct op_graph *g, const struct op *op, struct memory *m, bool before,
                       struct error *err) {
    const struct backend_table *table = m->backend->table;
    if (m->needs.saved == 0)
        return 0;
    if (before)
        return op->forward < 0
                   ? 0
                   : table->copy_in(m->backend, m->saved, g->saved, g->saved_bytes, err);
    if (op->forward >= 0)
        return 0;
    free(g->saved);
    g->saved_bytes = m->needs.saved;
    g->saved = malloc(g->saved_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g->saved);
    return table->copy_out(m->backend, g->saved, m->saved, g->saved_bytes, err);
}

static int bind_and_run(struct op_graph *g, const struct op *op, struct memory *m,
                        struct error *err) {
    const struct backend_table *table = m->backend->table;
    struct op_addresses addresses = {.inputs = m->in,
                                     .outputs = m->out,
                                     .scratch = m->scratch,
                                     .saved = m->saved,
                                     .packed = m->packed,
                                     .rows = m->rows};
    if (table->bind(m->backend, &g->graph, op, &addresses, &m->bound, err) != 0 ||
        carry_saved(g, op, m, true, err) != 0)
        return -1;
    if (m->bound.refresh.run != NULL && m->bound.refresh.run(m->bound.refresh.context, err) != 0)
        return -1;
    if (table->refreshed != NULL && table->refreshed(m->backend, err) != 0)
        return -1;
    if (m->bound.step.run(m->bound.step.context, err) != 0 || table->sync(m->backend, err) != 0)
        return -1;
    return carry_saved(g, op, m, false, err);
}

bool op_graph_in_place(struct op_graph *g, struct backend *backend, int number) {
    struct backend_needs needs = {0};
    struct error err = {0};
    const struct op *op = &g->graph.ops[number];
    CU_ASSERT_EQUAL(backend->table->query(backend, &g->graph, op, &needs, &err), 0);
    return needs.in_place && op_rule(op->kind)->in_place_count > 0;
}

static int run_in(struct op_graph *g, const struct op *op, struct memory *m, bool in_place,
                  void *const *result, struct error *err) {
    const struct backend_table *table = m->backend->table;
    if (prepare(g, op, m, err) != 0)
        return -1;
    if (in_place)
        borrow_places(op, m);
    if (bind_and_run(g, op, m, err) != 0)
        return -1;
    check_fences(m);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (m->out[i] != NULL && table->copy_out(m->backend, result[op->outputs[i]], m->out[i],
                                                 m->out_bytes[i], err) != 0)
            return -1;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (m->in[i] != NULL && op_updates(op->kind, i) &&
            table->copy_out(m->backend, result[op->inputs[i]], m->in[i], m->in_bytes[i], err) != 0)
            return -1;
    return 0;
}

int op_graph_run(struct op_graph *g, struct backend *backend, int number, bool in_place,
                 void *const *result, struct error *err) {
    struct op op = g->graph.ops[number];
    struct memory m = {.backend = backend};
    int status = run_in(g, &op, &m, in_place, result, err);
    memory_done(&m);
    return status;
}
