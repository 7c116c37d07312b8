/* What is removed from a graph, and under which numbers the rest goes on. */
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/rules/op_table.h"
#include "trainer/graph/schedule.h"

static struct graph graph;
static struct error err;

static void begin(bool training) {
    err = (struct error){0};
    graph_init(&graph, DTYPE_F32, training);
}

/* Nobody needs the ReLUs at numbers 1 and 3; the one at 2 is needed by the last alone. */
static void what_nothing_needs_is_removed(void) {
    begin(false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_1(4));
    int a = graph_relu(&graph, x), idle = graph_relu(&graph, a);
    int b = graph_relu(&graph, a);
    int dead = graph_relu(&graph, idle);
    int y = graph_keep(&graph, graph_add(&graph, b, a), "y");
    CU_ASSERT_EQUAL_FATAL(graph_schedule(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph.op_count, 3);
    CU_ASSERT(graph.ops[0].outputs[0] == a && graph.ops[1].outputs[0] == b);
    CU_ASSERT_EQUAL(graph.ops[2].kind, OP_ADD);
    CU_ASSERT(graph.tensors[a].producer == 0 && graph.tensors[b].producer == 1);
    CU_ASSERT_EQUAL(graph.tensors[y].producer, 2);
    CU_ASSERT(graph.tensors[x].producer == -1 && graph.tensors[idle].producer == -1);
    CU_ASSERT_EQUAL(graph.tensors[dead].producer, -1);
    graph_done(&graph);
}

static void running_statistics_are_an_effect(void) {
    for (int training = 0; training < 2; training++) {
        begin(training == 1);
        int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 2, 2, 4));
        (void)graph_batch_norm(&graph, "bn", graph_relu(&graph, x),
                               (struct norm_options){1e-5, 0.1, INIT_ONE});
        CU_ASSERT_EQUAL_FATAL(graph_schedule(&graph, &err), 0);
        CU_ASSERT_EQUAL(graph.op_count, training == 1 ? 2 : 0);
        graph_done(&graph);
    }
}

static void gradients_of_parameters_are_an_effect(void) {
    begin(true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(2, 4));
    const struct op_attr attr = {.target = shape_2(4, 4)};
    for (int i = 0; i < 2; i++) {
        int op = graph_append(&graph, OP_LINEAR_GRAD_WEIGHT, "fc", (int[]){x, x}, &attr, &err);
        CU_ASSERT_EQUAL_FATAL(op, i);
    }
    int db = graph.ops[1].outputs[1]; /* its second output alone */
    graph.tensors[db].role = TENSOR_GRADIENT;
    CU_ASSERT_EQUAL_FATAL(graph_schedule(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph.op_count, 1);
    CU_ASSERT_EQUAL(graph.ops[0].outputs[1], db);
    graph_done(&graph);
}

static void who_makes_a_count_of_rows_stays(void) {
    begin(false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_1(1));
    int rows = graph_relu(&graph, x);
    graph.tensors[rows].dtype = DTYPE_I32;
    graph_rows(&graph, rows);
    (void)graph_keep(&graph, graph_relu(&graph, x), "y");
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_schedule(&graph, &err), 0);
    CU_ASSERT_EQUAL(graph.op_count, 2);
    graph_done(&graph);
}

/* Operators 1 and 3 were rewritten away, and with 3 a loss. */
static void numbers_move_with_their_operators(void) {
    begin(true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_1(4));
    for (int i = 0; i < 5; i++)
        x = graph_relu(&graph, x);
    graph.ops[4].forward = 2;
    graph.ops[2].forward = 0;
    graph.ops[1].kind = graph.ops[3].kind = OP_KINDS;
    graph.loss_count = 3;
    graph.losses[0] = 2;
    graph.losses[1] = 3;
    graph.losses[2] = 4;
    CU_ASSERT_EQUAL_FATAL(graph_compact(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph.op_count, 3);
    CU_ASSERT(graph.ops[0].forward == -1 && graph.ops[1].forward == 0);
    CU_ASSERT_EQUAL(graph.ops[2].forward, 1);
    CU_ASSERT(graph.loss_count == 2 && graph.losses[0] == 1 && graph.losses[1] == 2);
    CU_ASSERT_EQUAL(graph.tensors[graph.ops[2].outputs[0]].producer, 2);
    CU_ASSERT_EQUAL(graph.tensors[graph.ops[2].inputs[0]].producer, -1);
    graph_done(&graph);
}

UNIT_SUITE("graph.schedule", UNIT(what_nothing_needs_is_removed),
           UNIT(running_statistics_are_an_effect), UNIT(gradients_of_parameters_are_an_effect),
           UNIT(who_makes_a_count_of_rows_stays), UNIT(numbers_move_with_their_operators))
