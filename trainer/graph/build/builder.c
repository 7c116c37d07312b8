#include "trainer/graph/build/builder.h"

#include "trainer/graph/rules/op_table.h"

#include <stdio.h>

int builder_fail(struct graph *graph, const struct error *err) {
    if (!graph->failed) {
        graph->failed = true;
        graph->error = *err;
    }
    return TENSOR_NONE;
}

int builder_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                   const struct op_attr *attr) {
    struct error err = {0};
    if (graph->failed)
        return -1;
    int op = graph_append(graph, kind, name, inputs, attr, &err);
    if (op < 0)
        (void)builder_fail(graph, &err);
    return op;
}

int builder_op(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
               const struct op_attr *attr) {
    int op = builder_append(graph, kind, name, inputs, attr);
    return op < 0 ? TENSOR_NONE : graph->ops[op].outputs[0];
}

const char *builder_join(char text[TENSOR_NAME_SIZE], const char *name, const char *part) {
    (void)snprintf(text, TENSOR_NAME_SIZE, "%s.%s", name, part);
    return text;
}

int64_t builder_channels(const struct graph *graph, int tensor) {
    if (graph->failed || tensor == TENSOR_NONE)
        return 1;
    const struct shape *shape = &graph->tensors[tensor].shape;
    return shape->dim[shape->rank - 1];
}
