#include "trainer/graph/graph.h"

#include "common/grow.h"

#include <stdlib.h>
#include <string.h>

void graph_init(struct graph *graph, enum dtype dtype, bool training) {
    *graph = (struct graph){
        .dtype = dtype, .training = training, .keeps = GRAPH_KEEPS_MOMENTUM, .rows = TENSOR_NONE};
}

void graph_done(struct graph *graph) {
    free(graph->tensors);
    free(graph->ops);
    free(graph->gradient);
    *graph = (struct graph){.rows = TENSOR_NONE};
}

int graph_finish(const struct graph *graph, struct error *err) {
    if (!graph->failed)
        return 0;
    if (err != NULL)
        *err = graph->error;
    return -1;
}

static int check_room(int count, int max, const char *what, struct error *err) {
    return count < max
               ? 0
               : error_set(err, EXIT_CODE_INTERNAL, "the graph has more than %d %s", max, what);
}

/* Makes room for one more tensor. Both arrays grow from the same capacity to the same; after a
 * failure the first may be longer than that, which is harmless. */
static int reserve_tensor(struct graph *graph, struct error *err) {
    const size_t wanted = (size_t)graph->tensor_count + 1;
    size_t capacity = graph->tensor_capacity;
    if (check_room(graph->tensor_count, GRAPH_TENSORS_MAX, "tensors", err) != 0)
        return -1;
    return grow_array(&graph->gradient, &capacity, wanted, sizeof(*graph->gradient), "the graph",
                      err) != 0
               ? -1
               : grow_array(&graph->tensors, &graph->tensor_capacity, wanted,
                            sizeof(*graph->tensors), "the graph", err);
}

static int check_dimensions(const char *name, const struct shape *shape, struct error *err) {
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 1 || shape->dim[i] > INT32_MAX || count > INT64_MAX / 16 / INT32_MAX) {
            char text[SHAPE_TEXT_SIZE];
            return error_set(err, EXIT_CODE_CONFIG,
                             "%s: a tensor of shape %s is too large, or has no elements; use a "
                             "smaller batch or smaller pictures",
                             name, shape_text(shape, text));
        }
        count *= shape->dim[i];
    }
    return 0;
}

int graph_tensor(struct graph *graph, const char *name, enum dtype dtype, struct shape shape,
                 enum tensor_role role, struct error *err) {
    if (check_dimensions(name, &shape, err) != 0)
        return TENSOR_NONE;
    if (reserve_tensor(graph, err) != 0)
        return TENSOR_NONE;
    int number = graph->tensor_count++;
    struct tensor *tensor = &graph->tensors[number];
    *tensor = (struct tensor){
        .dtype = dtype, .shape = shape, .role = role, .producer = -1, .parameter = TENSOR_NONE};
    tensor_set_name(tensor->name, name);
    graph->gradient[number] = TENSOR_NONE;
    return number;
}

int graph_set_output(struct graph *graph, struct op *op, int slot, enum dtype dtype,
                     struct shape shape, struct error *err) {
    op->outputs[slot] = graph_tensor(graph, op->name, dtype, shape, TENSOR_ACTIVATION, err);
    return op->outputs[slot] == TENSOR_NONE ? -1 : 0;
}

int graph_reserve(struct graph *graph, struct error *err) {
    return check_room(graph->op_count, GRAPH_OPS_MAX, "operators", err) != 0
               ? -1
               : grow_array(&graph->ops, &graph->op_capacity, (size_t)graph->op_count + 1,
                            sizeof(*graph->ops), "the graph", err);
}

int graph_insert(struct graph *graph, int number, const struct op *op, struct error *err) {
    struct op own = *op; /* it may point into graph->ops, which can be reallocated */
    if (graph_reserve(graph, err) != 0)
        return -1;
    memmove(&graph->ops[number + 1], &graph->ops[number],
            (size_t)(graph->op_count - number) * sizeof(own));
    graph->ops[number] = own;
    graph->op_count++;
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i].forward >= number)
            graph->ops[i].forward++;
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].producer >= number)
            graph->tensors[i].producer++;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (own.outputs[i] != TENSOR_NONE)
            graph->tensors[own.outputs[i]].producer = number;
    for (int i = 0; i < graph->loss_count; i++)
        if (graph->losses[i] >= number)
            graph->losses[i]++;
    return 0;
}

int graph_find(const struct graph *graph, const char *name) {
    for (int i = 0; i < graph->tensor_count; i++) {
        const struct tensor *tensor = &graph->tensors[i];
        if (tensor->role != TENSOR_ACTIVATION && tensor->role != TENSOR_GRADIENT &&
            strcmp(tensor->name, name) == 0)
            return i;
    }
    return TENSOR_NONE;
}
