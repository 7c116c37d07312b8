/* Proof of a memory plan, independent of the planner's lifetimes: the graph says what each
 * operator reads and writes, the waits say what surely runs before what. */
#include "trainer/graph/program/plan.h"
#include "trainer/graph/rules/op_table.h"

#include "common/cleanup.h"

#include <stdlib.h>

/* What one operator writes and others read: a tensor, saved bytes, or scratch, which the operator
 * reads itself. */
struct value {
    size_t offset, bytes;
    int writer;
    int tensor;       /* or TENSOR_NONE */
    int end[STREAMS]; /* the last operator that touches it on each stream, or -1 */
};

struct proof {
    const struct plan *plan;
    const struct graph *graph;
    const struct streams *streams;
    struct value *values;
    int count;
    int *tensor_value, *saved_value; /* per tensor, per operator */
    struct error *err;
};

static int add_value(struct proof *p, int block, int writer, int tensor) {
    const struct plan_block *b = &p->plan->blocks[block];
    struct value *v = &p->values[p->count];
    *v = (struct value){.offset = b->offset,
                        .bytes = b->bytes,
                        .writer = writer,
                        .tensor = tensor,
                        .end = {-1, -1}};
    v->end[streams_of(p->streams, writer)] = writer;
    return p->count++;
}

/* Checks that operator READER reads a value that has surely been written. */
static int add_read(struct proof *p, int value, int writer, int reader) {
    if (writer >= 0 && !streams_before(p->streams, writer, reader))
        return error_set(p->err, EXIT_CODE_INTERNAL,
                         "operator %d reads the result of operator %d, which may not have run yet",
                         reader, writer);
    if (value >= 0)
        p->values[value].end[streams_of(p->streams, reader)] = reader;
    return 0;
}

static int add_reads(struct proof *p, int number) {
    const struct op *op = &p->graph->ops[number];
    for (int k = 0; k < OP_READS_MAX; k++) {
        int input = op_reads(op, k);
        if (input != TENSOR_NONE &&
            add_read(p, p->tensor_value[input], p->graph->tensors[input].producer, number) != 0)
            return -1;
    }
    if (op->forward < 0 || p->saved_value[op->forward] < 0)
        return 0;
    return add_read(p, p->saved_value[op->forward], op->forward, number);
}

static int collect(struct proof *p) {
    for (int i = 0; i < p->plan->tensor_count; i++)
        p->tensor_value[i] = -1;
    for (int i = 0; i < p->graph->op_count; i++) {
        const struct op *op = &p->graph->ops[i];
        p->saved_value[i] = -1;
        if (add_reads(p, i) != 0)
            return -1;
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (op->outputs[k] != TENSOR_NONE && p->plan->tensor_block[op->outputs[k]] >= 0)
                p->tensor_value[op->outputs[k]] =
                    add_value(p, p->plan->tensor_block[op->outputs[k]], i, op->outputs[k]);
        if (p->plan->scratch_block[i] >= 0)
            (void)add_value(p, p->plan->scratch_block[i], i, TENSOR_NONE);
        if (p->plan->saved_block[i] >= 0)
            p->saved_value[i] = add_value(p, p->plan->saved_block[i], i, TENSOR_NONE);
    }
    return 0;
}

/* Returns true if operator NUMBER may write its output TO over its input FROM. */
static bool may_take_place(const struct graph *graph, int number, int from, int to) {
    const struct op *op = &graph->ops[number];
    const struct op_rule *rule = op_rule(op->kind);
    for (int i = 0; from != TENSOR_NONE && to != TENSOR_NONE && i < rule->in_place_count; i++)
        if (op_may_place(op, &rule->in_place[i]) && op->inputs[rule->in_place[i].input] == from &&
            op->outputs[rule->in_place[i].output] == to)
            return true;
    return false;
}

/* Returns true if nothing needs A any more when B is written. */
static bool is_over(const struct proof *p, const struct value *a, const struct value *b) {
    for (int stream = 0; stream < STREAMS; stream++) {
        int last = a->end[stream];
        bool taken = last == b->writer && may_take_place(p->graph, last, a->tensor, b->tensor);
        if (last >= 0 && !taken && !streams_before(p->streams, last, b->writer))
            return false;
    }
    return true;
}

static bool meet(const struct value *a, const struct value *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static int compare_pairs(const struct proof *p) {
    for (int i = 0; i < p->count; i++) {
        const struct value *a = &p->values[i];
        if (a->offset % PLAN_ALIGNMENT != 0 || a->offset + a->bytes > p->plan->arena_bytes)
            return error_set(p->err, EXIT_CODE_INTERNAL,
                             "the result of operator %d is at %zu + %zu of %zu", a->writer,
                             a->offset, a->bytes, p->plan->arena_bytes);
        for (int k = 0; k < i; k++) {
            const struct value *b = &p->values[k];
            if (meet(a, b) && !is_over(p, a, b) && !is_over(p, b, a))
                return error_set(p->err, EXIT_CODE_INTERNAL,
                                 "what operators %d and %d make may share bytes while both are "
                                 "needed",
                                 b->writer, a->writer);
        }
    }
    return 0;
}

int plan_check(const struct plan *plan, const struct graph *graph, const struct streams *streams,
               struct error *err) {
    size_t tensors = (size_t)graph->tensor_count, ops = (size_t)graph->op_count;
    cleanup_free struct value *values = calloc(tensors + 2 * ops + 1, sizeof(*values));
    cleanup_free int *numbers = calloc(tensors + ops + 1, sizeof(*numbers));
    if (values == NULL || numbers == NULL)
        return error_no_memory(err, "the proof of the memory plan");
    struct proof proof = {.plan = plan,
                          .graph = graph,
                          .streams = streams,
                          .values = values,
                          .tensor_value = numbers,
                          .saved_value = numbers + tensors,
                          .err = err};
    return collect(&proof) != 0 ? -1 : compare_pairs(&proof);
}
