#include "trainer/graph/gradient/backward.h"

#include "trainer/graph/gradient/gradients.h"

#define gradient_none NULL

static op_gradient_rule *const rules[OP_KINDS] = {
#define OP(kind, label, in, out, shape, back, ...) [OP_##kind] = gradient_##back,
#include "trainer/graph/ops.def"
};

op_gradient_rule *gradient_rule(enum op_kind kind) {
    return rules[kind];
}

/* Marks the tensors that depend on no parameter. */
static void mark_unwanted(struct graph *graph) {
    for (int i = 0; i < graph->tensor_count; i++)
        graph->gradient[i] =
            graph->tensors[i].role == TENSOR_PARAMETER ? TENSOR_NONE : GRADIENT_UNWANTED;
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        bool wanted = false;
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            wanted |= gradients_wanted(graph, op->inputs[k]);
        if (wanted && gradient_rule(op->kind) != NULL)
            for (int k = 0; k < OP_OUTPUTS_MAX; k++)
                if (op->outputs[k] != TENSOR_NONE)
                    graph->gradient[op->outputs[k]] = TENSOR_NONE;
    }
}

/* Returns true if operator NUMBER is a loss or one of its outputs has a gradient. */
static bool has_gradient(const struct graph *graph, int number) {
    for (int i = 0; i < graph->loss_count; i++)
        if (graph->losses[i] == number)
            return true;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (gradients_of(graph, graph->ops[number].outputs[i]) != TENSOR_NONE)
            return true;
    return false;
}

static int differentiate(struct graph *graph, int number, struct error *err) {
    int first = graph->op_count;
    op_gradient_rule *rule = gradient_rule(graph->ops[number].kind);
    if (rule == NULL || !has_gradient(graph, number))
        return 0;
    if (rule(graph, number, err) != 0)
        return error_wrap(err, "gradient of %s %s", op_name(graph->ops[number].kind),
                          graph->ops[number].name);
    for (int i = first; i < graph->op_count; i++) {
        if (graph->ops[i].kind == OP_ADD)
            continue;
        graph->ops[i].forward = number;
        graph->ops[i].rows = graph->ops[number].rows;
    }
    return 0;
}

int graph_add_gradients(struct graph *graph, struct error *err) {
    if (graph->loss_count == 0)
        return error_set(err, EXIT_CODE_INTERNAL, "the graph has no loss to start backward from");
    graph->rows = TENSOR_NONE;
    mark_unwanted(graph);
    int forward = graph->op_count;
    for (int i = forward - 1; i >= 0; i--)
        if (differentiate(graph, i, err) != 0)
            return -1;
    for (int i = 0; i < graph->tensor_count; i++) {
        int gradient = gradients_of(graph, i);
        if (graph->tensors[i].role != TENSOR_PARAMETER || gradient == TENSOR_NONE)
            continue;
        if (graph->tensors[gradient].role != TENSOR_ACTIVATION)
            return error_set(err, EXIT_CODE_INTERNAL, "%s shares its gradient with %s",
                             graph->tensors[i].name, graph->tensors[gradient].name);
        graph->tensors[gradient].role = TENSOR_GRADIENT;
        graph->tensors[gradient].parameter = i;
    }
    return 0;
}
