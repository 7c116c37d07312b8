#include "trainer/app/board/board_graph.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "trainer/telemetry/graph_def.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)OP_READS_MAX <= (int)GRAPH_DEF_INPUTS_MAX, "all that an operator reads");
_Static_assert((int)SHAPE_RANK_MAX <= (int)GRAPH_DEF_RANK_MAX, "all dimensions");

/* Names of the nodes: those of operators first, then those of tensors that no operator writes. */
struct node_names {
    char (*list)[GRAPH_DEF_NAME_SIZE]; /* owned */
    int ops, count;
};

static void node_names_done(struct node_names *n) {
    free(n->list);
}

/* Gives node I a name that no earlier one has. */
static void name_node(struct node_names *n, int i, const char *name, const char *otherwise) {
    char plain[GRAPH_DEF_NAME_SIZE - 16];
    int number = 1;
    graph_def_name(n->list[i], name[0] != '\0' ? name : otherwise);
    memcpy(plain, n->list[i], sizeof(plain));
    plain[sizeof(plain) - 1] = '\0';
    for (int k = 0; k < i; k++)
        if (strcmp(n->list[k], n->list[i]) == 0) {
            (void)snprintf(n->list[i], GRAPH_DEF_NAME_SIZE, "%s_%d", plain, ++number);
            k = -1;
        }
}

static int name_all(struct node_names *n, const struct graph *graph, struct error *err) {
    n->ops = graph->op_count;
    n->count = n->ops + graph->tensor_count;
    n->list = calloc((size_t)n->count + 1, sizeof(*n->list));
    if (n->list == NULL)
        return error_no_memory(err, "names of the graph");
    for (int i = 0; i < n->ops; i++)
        name_node(n, i, graph->ops[i].name, op_name(graph->ops[i].kind));
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].producer < 0)
            name_node(n, n->ops + i, graph->tensors[i].name, "tensor");
    return 0;
}

static void put_shape(struct graph_def_node *node, const struct shape *shape) {
    node->rank = shape->rank;
    for (int i = 0; i < shape->rank; i++)
        node->dim[i] = shape->dim[i];
}

static int add_op(struct buf *out, const struct graph *graph, const struct node_names *n, int i,
                  struct error *err) {
    const struct op *op = &graph->ops[i];
    struct graph_def_node node = {.name = n->list[i], .op = op_name(op->kind)};
    for (int slot = 0; slot < OP_READS_MAX; slot++) {
        const int tensor = op_reads(op, slot);
        if (tensor == TENSOR_NONE)
            continue;
        const int producer = graph->tensors[tensor].producer;
        node.inputs[node.input_count++] = n->list[producer >= 0 ? producer : n->ops + tensor];
    }
    if (op->outputs[0] != TENSOR_NONE)
        put_shape(&node, &graph->tensors[op->outputs[0]].shape);
    return graph_def_add(out, &node, err);
}

static const char *kind_of(enum tensor_role role) {
    return role == TENSOR_PARAMETER  ? "parameter"
           : role == TENSOR_STATE    ? "running_statistic"
           : role == TENSOR_CONSTANT ? "constant"
                                     : "input";
}

int board_graph_text(struct buf *out, const struct graph *graph, struct error *err) {
    __attribute__((cleanup(node_names_done))) struct node_names n = {0};
    if (name_all(&n, graph, err) != 0)
        return -1;
    for (int i = 0; i < graph->tensor_count; i++) {
        const struct tensor *t = &graph->tensors[i];
        struct graph_def_node node = {.name = n.list[n.ops + i], .op = kind_of(t->role)};
        put_shape(&node, &t->shape);
        if (t->producer < 0 && graph_def_add(out, &node, err) != 0)
            return -1;
    }
    for (int i = 0; i < graph->op_count; i++)
        if (add_op(out, graph, &n, i, err) != 0)
            return -1;
    return 0;
}

int board_graph(struct board *board, const struct graph *graph, struct error *err) {
    cleanup_buf struct buf out = {.max = TFEVENTS_GRAPH_MAX};
    if (!board_is_open(board))
        return 0;
    return board_graph_text(&out, graph, err) != 0
               ? -1
               : tfevents_add_graph(&board->steps, clock_wall(), &out, err);
}
