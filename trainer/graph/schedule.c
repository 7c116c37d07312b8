#include "trainer/graph/schedule.h"

#include "common/cleanup.h"

#include <stdlib.h>

/* Returns true if OP has an effect beyond the step: a kept result, a gradient of a parameter, new
 * running statistics. */
static bool has_effect(const struct graph *graph, const struct op *op) {
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        if (op->outputs[i] == TENSOR_NONE)
            continue;
        enum tensor_role role = graph->tensors[op->outputs[i]].role;
        if (role == TENSOR_OUTPUT || role == TENSOR_GRADIENT)
            return true;
    }
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (op->inputs[i] != TENSOR_NONE && op_updates(op->kind, i))
            return true;
    return false;
}

static void mark_needed(const struct graph *graph, int number, bool *needed) {
    const struct op *op = &graph->ops[number];
    needed[number] = true;
    for (int i = 0; i < OP_READS_MAX; i++) {
        int read = op_reads(op, i);
        int producer = read == TENSOR_NONE ? -1 : graph->tensors[read].producer;
        if (producer >= 0)
            needed[producer] = true;
    }
}

int graph_compact(struct graph *graph, struct error *err) {
    cleanup_free int *number = calloc((size_t)graph->op_count + 1, sizeof(*number));
    if (number == NULL)
        return error_no_memory(err, "the schedule");
    for (int i = 0; i < graph->tensor_count; i++)
        graph->tensors[i].producer = -1;
    int kept = 0;
    for (int i = 0; i < graph->op_count; i++) {
        number[i] = -1;
        if (graph->ops[i].kind == OP_KINDS)
            continue;
        number[i] = kept;
        struct op *op = &graph->ops[kept++];
        *op = graph->ops[i];
        if (op->forward >= 0)
            op->forward = number[op->forward];
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (op->outputs[k] != TENSOR_NONE)
                graph->tensors[op->outputs[k]].producer = number[i];
    }
    int losses = 0;
    for (int i = 0; i < graph->loss_count; i++)
        if (number[graph->losses[i]] >= 0)
            graph->losses[losses++] = number[graph->losses[i]];
    graph->loss_count = losses;
    graph->op_count = kept;
    return 0;
}

int graph_schedule(struct graph *graph, struct error *err) {
    cleanup_free bool *needed = calloc((size_t)graph->op_count + 1, sizeof(*needed));
    if (needed == NULL)
        return error_no_memory(err, "the schedule");
    for (int i = graph->op_count - 1; i >= 0; i--)
        if (needed[i] || has_effect(graph, &graph->ops[i]))
            mark_needed(graph, i, needed);
    for (int i = 0; i < graph->op_count; i++)
        if (!needed[i])
            graph->ops[i].kind = OP_KINDS;
    return graph_compact(graph, err);
}
