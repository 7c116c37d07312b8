/* A graph has room for so many tensors and operators: over the whole table, each operator that
 * makes one more than there is room for, and each rule of a gradient that does, is an error. */
#include "tests/ops/harness.h"
#include "tests/support/unit.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/rules/op_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays as long as a graph's may become, for what a row has of them. */
static struct tensor *tensors;
static struct op *ops;
static int *gradient;

static void open_arrays(void) {
    tensors = calloc(GRAPH_TENSORS_MAX, sizeof(*tensors));
    ops = calloc(GRAPH_OPS_MAX, sizeof(*ops));
    gradient = calloc(GRAPH_TENSORS_MAX, sizeof(*gradient));
    CU_ASSERT_FATAL(tensors != NULL && ops != NULL && gradient != NULL);
}

static void close_arrays(void) {
    free(tensors);
    free(ops);
    free(gradient);
}

/* GRAPH with OP_COUNT of its operators and so much room after them. Valid until the next call. */
static struct graph with_room(const struct graph *graph, int op_count, int for_tensors,
                              int for_ops) {
    struct graph ret = *graph;
    memcpy(tensors, graph->tensors, (size_t)graph->tensor_count * sizeof(*tensors));
    memcpy(ops, graph->ops, (size_t)op_count * sizeof(*ops));
    memcpy(gradient, graph->gradient, (size_t)graph->tensor_count * sizeof(*gradient));
    ret.tensors = tensors;
    ret.ops = ops;
    ret.gradient = gradient;
    ret.tensor_capacity = GRAPH_TENSORS_MAX;
    ret.op_capacity = GRAPH_OPS_MAX;
    ret.tensor_count = GRAPH_TENSORS_MAX - for_tensors;
    ret.op_count = GRAPH_OPS_MAX - for_ops;
    return ret;
}

enum { PLENTY = 64 };

/* Whether OP's shape rule works with so much room; else says why not. *RET_MADE: tensors. */
static bool has_shape(const struct graph *graph, const struct op *op, int room, int *ret_made) {
    struct graph crowded = with_room(graph, graph->op_count, room, PLENTY);
    struct op fresh = *op;
    struct error err = {0};
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        fresh.outputs[i] = TENSOR_NONE;
    int before = crowded.tensor_count;
    int done = op_rule(op->kind)->shape(&crowded, &fresh, &err);
    bool good = done == 0;
    *ret_made = crowded.tensor_count - before;
    CU_ASSERT(good || done == -1);
    if (!good)
        ASSERT_CONTAINS(err.text, "the graph has more than 65536 tensors");
    return good;
}

static void an_operator_has_room_for_all_that_it_makes(void) {
    open_arrays();
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        op_graph_describe(&g, op_case_at(i), DTYPE_F32);
        for (int number = 0; number < g.graph.op_count; number++) {
            const struct op *op = &g.graph.ops[number];
            int wanted, made;
            CU_ASSERT(has_shape(&g.graph, op, PLENTY, &wanted));
            for (int room = 0; room <= wanted; room++) {
                bool good = has_shape(&g.graph, op, room, &made);
                if (good != (room == wanted))
                    printf("%s, room for %d of %d tensors\n", op_name(op->kind), room, wanted);
                CU_ASSERT_EQUAL(good, room == wanted);
            }
        }
        op_graph_done(&g);
    }
    close_arrays();
}

/* The gradient of a row's operator, from the gradients that arrive there. SUMS: gradients have come
 * to all that it reads before. */
struct attempt {
    bool sums;
    int for_tensors, for_ops;
    int tensors, ops; /* that were made */
};

static void let_arrive(const struct op_graph *g, bool sums) {
    const struct op *op = &g->graph.ops[0];
    for (int i = 0; i < g->graph.tensor_count; i++)
        gradient[i] = TENSOR_NONE;
    for (int i = 0; i < OP_INPUTS_MAX && sums; i++)
        if (op->inputs[i] != TENSOR_NONE && g->graph.tensors[op->inputs[i]].dtype == DTYPE_F32)
            gradient[op->inputs[i]] = op->inputs[i];
    gradient[op->outputs[0]] = g->seeds[0] != TENSOR_NONE ? g->seeds[0] : op->outputs[0];
}

static bool has_gradient(const struct op_graph *g, struct attempt *a) {
    struct graph crowded = with_room(&g->graph, 1, a->for_tensors, a->for_ops);
    struct error err = {0};
    let_arrive(g, a->sums);
    /* The operator is the last one that there is. */
    int number = crowded.op_count - 1;
    ops[number] = g->graph.ops[0];
    const int tensor_count = crowded.tensor_count, op_count = crowded.op_count;
    int done = gradient_rule(g->row->kind)(&crowded, number, &err);
    bool good = done == 0;
    CU_ASSERT(good || done == -1);
    a->tensors = crowded.tensor_count - tensor_count;
    a->ops = crowded.op_count - op_count;
    if (!good)
        ASSERT_CONTAINS(err.text, "the graph has more than ");
    return good;
}

static void check_gradient(const struct op_graph *g, bool sums) {
    struct attempt all = {.sums = sums, .for_tensors = PLENTY, .for_ops = PLENTY};
    bool good = has_gradient(g, &all);
    CU_ASSERT(good);
    for (int room = 0; room <= all.tensors; room++) {
        struct attempt a = {.sums = sums, .for_tensors = room, .for_ops = PLENTY};
        good = has_gradient(g, &a);
        if (good != (room == all.tensors))
            printf("gradient of %s, room for %d tensors\n", g->row->name, room);
        CU_ASSERT_EQUAL(good, room == all.tensors);
    }
    for (int room = 0; room <= all.ops; room++) {
        struct attempt a = {.sums = sums, .for_tensors = PLENTY, .for_ops = room};
        good = has_gradient(g, &a);
        if (good != (room == all.ops))
            printf("gradient of %s, room for %d operators\n", g->row->name, room);
        CU_ASSERT_EQUAL(good, room == all.ops);
    }
}

static void a_gradient_has_room_for_all_that_it_makes(void) {
    open_arrays();
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        op_graph_describe(&g, op_case_at(i), DTYPE_F32);
        for (int sums = 0; sums < 2 && gradient_rule(g.row->kind) != NULL; sums++)
            check_gradient(&g, sums == 1);
        op_graph_done(&g);
    }
    close_arrays();
}

UNIT_SUITE("ops.limits", UNIT(an_operator_has_room_for_all_that_it_makes),
           UNIT(a_gradient_has_room_for_all_that_it_makes))
