#include "trainer/graph/gradients.h"

#include "trainer/graph/rules.h"

/* In graph->gradient beside TENSOR_NONE ("nothing yet"): no parameter lies behind this tensor. */
enum { GRADIENT_UNWANTED = -2 };

int gradients_of(const struct graph *graph, int tensor) {
    if (tensor == TENSOR_NONE || graph->gradient[tensor] < 0)
        return TENSOR_NONE;
    return graph->gradient[tensor];
}

bool gradients_wanted(const struct graph *graph, int tensor) {
    return tensor != TENSOR_NONE && graph->gradient[tensor] != GRADIENT_UNWANTED;
}

int gradients_send(struct graph *graph, int tensor, int gradient, struct error *err) {
    if (!gradients_wanted(graph, tensor))
        return 0;
    int before = graph->gradient[tensor];
    if (before == TENSOR_NONE) {
        graph->gradient[tensor] = gradient;
        return 0;
    }
    int sum = graph_append(graph, OP_ADD, "gradient sum", (int[]){before, gradient}, NULL, err);
    if (sum < 0)
        return -1;
    graph->gradient[tensor] = graph->ops[sum].outputs[0];
    return 0;
}

void gradients_take(struct graph *graph, int tensor, int gradient) {
    if (gradients_wanted(graph, tensor))
        graph->gradient[tensor] = gradient;
}

int gradients_append(struct graph *graph, enum op_kind kind, const struct op *op, const int *inputs,
                     const struct op_attr *attr, struct error *err) {
    struct op_attr own = *attr; /* attr may lie in graph->ops, which moves */
    return graph_append(graph, kind, op->name, inputs, &own, err);
}

int gradients_append_to(struct graph *graph, enum op_kind kind, const struct op *op,
                        const int *inputs, const struct op_attr *attr, int tensor,
                        struct error *err) {
    int added = gradients_append(graph, kind, op, inputs, attr, err);
    if (added < 0)
        return -1;
    return gradients_send(graph, tensor, graph->ops[added].outputs[0], err);
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
        if (wanted && op_rule(op->kind)->gradient != NULL)
            for (int k = 0; k < OP_OUTPUTS_MAX; k++)
                if (op->outputs[k] != TENSOR_NONE)
                    graph->gradient[op->outputs[k]] = TENSOR_NONE;
    }
}

/* Whether operator NUMBER is a loss or a gradient has come to one of its outputs. */
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
    const struct op_rule *rule = op_rule(graph->ops[number].kind);
    if (rule->gradient == NULL || !has_gradient(graph, number))
        return 0;
    if (rule->gradient(graph, number, err) != 0)
        return error_wrap(err, "gradient of %s %s", rule->name, graph->ops[number].name);
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
