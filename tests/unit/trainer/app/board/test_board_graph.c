#include "common/binary/protobuf.h"
#include "tests/support/unit.h"
#include "trainer/app/board/board_graph.h"
#include "trainer/models/model.h"

#include <string.h>

enum { NODES_MAX = 512, NAME = 1, OP = 2, INPUT = 3 };

static struct protobuf_view names[NODES_MAX];

static bool same(struct protobuf_view a, struct protobuf_view b) {
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static bool is_named(size_t count, struct protobuf_view name) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += same(names[i], name);
    return found == 1;
}

/* Returns the number of nodes; their names are in `names`. */
static size_t read_names(struct protobuf_view graph) {
    struct protobuf_field node, field;
    size_t count = 0;
    while (protobuf_next(&graph, &node, NULL) == 1)
        while (protobuf_next(&node.view, &field, NULL) == 1)
            if (field.number == NAME && count < NODES_MAX)
                names[count++] = field.view;
    return count;
}

/* Names of nodes are unique, and inputs name nodes. */
static void check(struct protobuf_view graph, size_t *ret_convolutions) {
    struct protobuf_field node, field;
    const size_t count = read_names(graph);
    CU_ASSERT(count > 20 && count < NODES_MAX);
    *ret_convolutions = 0;
    while (protobuf_next(&graph, &node, NULL) == 1)
        while (protobuf_next(&node.view, &field, NULL) == 1) {
            if (field.number == NAME || field.number == INPUT)
                CU_ASSERT(is_named(count, field.view));
            *ret_convolutions += field.number == OP && field.view.size == 6 &&
                                 memcmp(field.view.bytes, "conv2d", 6) == 0;
        }
}

static void a_network_has_a_node_for_each_operator(void) {
    struct graph graph = {0};
    struct model_options options = {
        .batch = 2, .height = 32, .width = 32, .classes = 3, .training = true, .std = {1, 1, 1}};
    const struct model *model = model_find("resnet20");
    cleanup_buf struct buf out = {.max = TFEVENTS_GRAPH_MAX};
    size_t convolutions = 0;
    CU_ASSERT_EQUAL_FATAL(model->build(&graph, model, &options, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(board_graph_text(&out, &graph, NULL), 0);
    check((struct protobuf_view){(const uint8_t *)out.data, out.size}, &convolutions);
    /* Nineteen of 3x3 and the two of the shortcuts that widen. */
    CU_ASSERT_EQUAL(convolutions, 21);
    graph_done(&graph);
}

static void operators_without_names_of_their_own_are_told_apart(void) {
    struct tensor tensors[] = {{.name = "x", .producer = -1, .shape = {1, {4}}},
                               {.producer = 0, .shape = {1, {4}}},
                               {.producer = 1, .shape = {1, {4}}}};
    struct op ops[2];
    struct graph graph = {.tensors = tensors, .tensor_count = 3, .ops = ops, .op_count = 2};
    cleanup_buf struct buf out = {.max = TFEVENTS_GRAPH_MAX};
    for (int i = 0; i < 2; i++) {
        ops[i] = (struct op){.kind = OP_RELU, .rows = TENSOR_NONE};
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            ops[i].inputs[k] = k == 0 ? i : TENSOR_NONE;
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            ops[i].outputs[k] = k == 0 ? i + 1 : TENSOR_NONE;
    }
    CU_ASSERT_EQUAL_FATAL(board_graph_text(&out, &graph, NULL), 0);
    CU_ASSERT_EQUAL(read_names((struct protobuf_view){(const uint8_t *)out.data, out.size}), 3);
    CU_ASSERT(names[0].size == 1 && names[1].size == 4 && names[2].size == 6);
    CU_ASSERT_EQUAL(memcmp(names[2].bytes, "relu_2", 6), 0);
}

UNIT_SUITE("app.board_graph", UNIT(a_network_has_a_node_for_each_operator),
           UNIT(operators_without_names_of_their_own_are_told_apart))
