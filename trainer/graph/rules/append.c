#include "trainer/graph/rules/append.h"

#include "trainer/graph/rules/op_table.h"

int graph_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, struct error *err) {
    const struct op_rule *rule = op_rule(kind);
    struct op op = {.kind = kind, .rows = graph->rows, .forward = -1};
    if (attr != NULL)
        op.attr = *attr;
    tensor_set_name(op.name, name);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        op.inputs[i] = i < rule->inputs ? inputs[i] : TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        op.outputs[i] = TENSOR_NONE;
    if (graph_reserve(graph, err) != 0)
        return -1;
    if (rule->shape(graph, &op, err) != 0)
        return error_wrap(err, "%s %s", rule->name, name);
    int number = graph->op_count++;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op.outputs[i] != TENSOR_NONE)
            graph->tensors[op.outputs[i]].producer = number;
    graph->ops[number] = op;
    return number;
}
