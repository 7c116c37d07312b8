#include "trainer/graph/gradient/gradients.h"

#include "trainer/graph/rules/op_table.h"

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
    struct op_attr own = *attr; /* attr may point into graph->ops, which can be reallocated */
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
