#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/rules/op_table.h"

#include <string.h>

static void the_first_error_of_the_builder_is_kept(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 3));
    int y = graph_conv2d(&graph, "a", x, 5, 8, (struct op_window){.kernel = 3, .stride = 1});
    CU_ASSERT_EQUAL(y, TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_relu(&graph, y), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_linear(&graph, "b", x, 0), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "conv2d a: weights [8, 3, 3, 5] do not fit input [1, 4, 4, 3]");
    graph_done(&graph);
}

/* Grouped convolutions with their expected error messages; "" where there is none. */
static void groups_divide_inputs_and_outputs(void) {
    static const struct {
        int groups, inputs, outputs;
        const char *text;
    } rows[] = {
        {4, 6, 8, "conv2d a: 4 groups do not divide 6 inputs and 8 outputs: expected a divisor"},
        {3, 6, 8, "conv2d a: 3 groups do not divide 6 inputs and 8 outputs"},
        {2, 4, 8, "conv2d a: weights [8, 3, 3, 2] do not fit input [1, 4, 4, 6] in 2 groups"},
        {2, 6, 8, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct graph graph;
        struct error err = {0};
        const struct op_window window = {.kernel = 3, .stride = 1, .groups = rows[i].groups};
        graph_init(&graph, DTYPE_F32, true);
        int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 6));
        (void)graph_conv2d(&graph, "a", x, rows[i].inputs, rows[i].outputs, window);
        CU_ASSERT_EQUAL(graph_finish(&graph, &err), rows[i].text[0] == '\0' ? 0 : -1);
        ASSERT_CONTAINS(err.text, rows[i].text);
        graph_done(&graph);
    }
}

static void a_window_may_have_two_sides(void) {
    struct graph graph;
    const struct op_window window = {.kernel = 1, .stride = 2, .across = {7, 3}};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 9, 12, 6));
    int y = graph_conv2d(&graph, "a", x, 6, 8, window);
    const struct shape out = shape_4(1, 5, 6, 8), weight = shape_4(8, 1, 7, 6);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    CU_ASSERT(shape_equal(&graph.tensors[y].shape, &out));
    CU_ASSERT(shape_equal(&graph.tensors[graph_find(&graph, "a.weight")].shape, &weight));
    graph_done(&graph);
}

static void maps_lie_side_by_side(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int maps[CONCAT_INPUTS + 1];
    for (int i = 0; i <= CONCAT_INPUTS; i++)
        maps[i] = graph_input(&graph, (char[]){(char)('a' + i), '\0'}, DTYPE_F32,
                              shape_4(2, 4, 5, 1 + i));
    const int y = graph_concat(&graph, "all", maps, CONCAT_INPUTS);
    const struct shape all = shape_4(2, 4, 5, 1 + 2 + 3 + 4 + 5 + 6);
    CU_ASSERT(shape_equal(&graph.tensors[y].shape, &all));
    CU_ASSERT_EQUAL(graph_concat(&graph, "more", maps, CONCAT_INPUTS + 1), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "more: 7 maps side by side: expected 1 to 6");
    graph_done(&graph);
}

static void maps_of_other_pixels_do_not_lie_side_by_side(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int a = graph_input(&graph, "a", DTYPE_F32, shape_4(2, 4, 4, 3));
    int b = graph_input(&graph, "b", DTYPE_F32, shape_4(2, 4, 5, 3));
    (void)graph_concat(&graph, "both", (int[]){a, b}, 2);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "concat both: input 1 is f32 [2, 4, 5, 3], which cannot lie beside "
                              "[2, 4, 4, 3]: expected f32 of the same pixels");
    graph_done(&graph);
}

static void a_name_can_be_given_once(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    (void)graph_parameter(&graph, "w", shape_1(3), INIT_ZERO, 0);
    (void)graph_state(&graph, "w", shape_1(3), INIT_ZERO);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "two tensors have the name w");
    graph_done(&graph);
}

static void shapes_follow_from_the_inputs(void) {
    struct graph graph;
    graph_init(&graph, DTYPE_BF16, true);
    int x = graph_input(&graph, "x", DTYPE_BF16, shape_4(2, 224, 224, 3));
    struct op_window stem = {.kernel = 7, .stride = 2, .pad = 3};
    x = graph_conv2d(&graph, "conv1", x, 3, 64, stem);
    x = graph_max_pool(&graph, x, (struct op_window){.kernel = 3, .stride = 2, .pad = 1});
    struct shape pooled = shape_4(2, 56, 56, 64), flat = shape_2(2, 64), logits = shape_2(2, 10);
    CU_ASSERT(shape_equal(&graph.tensors[x].shape, &pooled));
    CU_ASSERT_EQUAL(graph.tensors[x].dtype, DTYPE_BF16);
    x = graph_global_avg_pool(&graph, x);
    CU_ASSERT(shape_equal(&graph.tensors[x].shape, &flat));
    x = graph_linear(&graph, "fc", x, 10);
    CU_ASSERT(shape_equal(&graph.tensors[x].shape, &logits));
    CU_ASSERT_EQUAL(graph.tensors[x].dtype, DTYPE_F32);
    CU_ASSERT_EQUAL(graph_finish(&graph, NULL), 0);
    graph_done(&graph);
}

static void impossible_shapes_are_refused(void) {
    static const struct shape shapes[] = {{.rank = 1, .dim = {0}},
                                          {.rank = 2, .dim = {5, -1}},
                                          {.rank = 4, .dim = {1 << 20, 1 << 20, 1 << 20, 1 << 20}},
                                          {.rank = 1, .dim = {INT64_MAX}}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct graph graph;
        struct error err = {0};
        graph_init(&graph, DTYPE_F32, true);
        CU_ASSERT_EQUAL(graph_input(&graph, "x", DTYPE_F32, shapes[i]), TENSOR_NONE);
        CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
        ASSERT_CONTAINS(err.text, "x: a tensor of shape [");
        graph_done(&graph);
    }
}

static void a_window_larger_than_its_picture_is_refused(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 2, 2, 3));
    (void)graph_max_pool(&graph, x, (struct op_window){.kernel = 3, .stride = 1});
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "a window of 3 does not fit into [1, 2, 2, 3]");
    graph_done(&graph);
}

static void cost_counts_a_multiply_add_as_two(void) {
    struct graph graph;
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 56, 56, 64));
    struct op_window window = {.kernel = 3, .stride = 1, .pad = 1};
    x = graph_conv2d(&graph, "conv", x, 64, 64, window);
    struct op_cost cost = op_cost(&graph, &graph.ops[graph.tensors[x].producer]);
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 56 * 56 * 64 * 64 * 9);
    CU_ASSERT_EQUAL(cost.bytes, 4.0 * (2 * 56 * 56 * 64 + 64 * 64 * 9));
    graph_done(&graph);
}

/* A loss of its own on X's linear layer NAME. */
static int add_head(struct graph *graph, const char *name, int x, int label, int weight) {
    int logits = graph_linear(graph, name, x, 3);
    return graph_softmax_cross_entropy(graph, logits, label, weight, 0);
}

static void more_losses_than_there_is_room_for_are_refused(void) {
    struct graph graph;
    struct error err = {0};
    char name[] = "head0";
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(2, 4));
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(2));
    for (; name[4] < '0' + GRAPH_LOSSES_MAX; name[4]++)
        CU_ASSERT_NOT_EQUAL(add_head(&graph, name, x, label, weight), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL(graph.loss_count, GRAPH_LOSSES_MAX);
    (void)add_head(&graph, name, x, label, weight);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "at most 8 losses");
    graph_done(&graph);
}

/* Losses before an inserted operator stay where they are. */
static void losses_move_with_their_operators(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(2, 4));
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(2));
    CU_ASSERT_NOT_EQUAL(add_head(&graph, "first", x, label, weight), TENSOR_NONE);
    int between = graph.op_count;
    CU_ASSERT_NOT_EQUAL(add_head(&graph, "second", x, label, weight), TENSOR_NONE);
    CU_ASSERT_EQUAL_FATAL(graph.loss_count, 2);
    int first = graph.losses[0], second = graph.losses[1];
    CU_ASSERT(first < between && between < second);
    CU_ASSERT_EQUAL_FATAL(graph_insert(&graph, between, &graph.ops[between], &err), 0);
    CU_ASSERT_EQUAL(graph.losses[0], first);
    CU_ASSERT_EQUAL(graph.losses[1], second + 1);
    graph_done(&graph);
}

static void pictures_alone_are_pooled(void) {
    for (int i = 0; i < 2; i++) {
        struct graph graph;
        struct error err = {0};
        graph_init(&graph, DTYPE_F32, true);
        int x = graph_input(&graph, "x", DTYPE_F32, shape_2(2, 8));
        int y = i == 0 ? graph_global_avg_pool(&graph, x)
                       : graph_max_pool(&graph, x, (struct op_window){.kernel = 1, .stride = 1});
        CU_ASSERT_EQUAL(y, TENSOR_NONE);
        CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
        ASSERT_CONTAINS(err.text, "input 0 has 2 dimensions, expected 4");
        graph_done(&graph);
    }
}

static void what_has_no_gradient_is_no_loss(void) {
    for (int i = 0; i < 2; i++) {
        struct graph graph;
        struct error err = {0};
        graph_init(&graph, DTYPE_F32, true);
        int image = graph_input(&graph, "image", DTYPE_U8, shape_4(1, 2, 2, 3));
        int x = graph_image_normalize(&graph, image, (float[3]){0}, (float[3]){1, 1, 1}, 4);
        graph_loss(&graph, i == 0 ? image : x);
        CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
        ASSERT_CONTAINS(err.text, "is not a loss");
        graph_done(&graph);
    }
}

static void rows_are_counted_by_one_whole_number(void) {
    for (int i = 0; i < 2; i++) {
        struct graph graph;
        struct error err = {0};
        graph_init(&graph, DTYPE_F32, true);
        graph_rows(&graph, graph_input(&graph, "rows", i == 0 ? DTYPE_F32 : DTYPE_I32,
                                       i == 0 ? shape_1(1) : shape_1(2)));
        CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
        ASSERT_CONTAINS(err.text, "rows is not a count of rows");
        graph_done(&graph);
    }
}

static void only_results_can_be_kept_and_once(void) {
    for (int what = 0; what < 4; what++) {
        struct graph graph;
        struct error err = {0};
        graph_init(&graph, DTYPE_F32, true);
        int x = graph_input(&graph, "x", DTYPE_F32, shape_2(2, 3));
        int tensors[] = {x, graph_parameter(&graph, "w", shape_1(3), INIT_ZERO, 0),
                         graph_state(&graph, "s", shape_1(3), INIT_ZERO),
                         graph_keep(&graph, graph_relu(&graph, x), "y")};
        enum tensor_role role = graph.tensors[tensors[what]].role;
        CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
        CU_ASSERT_EQUAL(graph_keep(&graph, tensors[what], "kept"), TENSOR_NONE);
        CU_ASSERT_EQUAL(graph.tensors[tensors[what]].role, role);
        CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
        ASSERT_CONTAINS(err.text, "cannot be kept as kept");
        graph_done(&graph);
    }
}

static void sums_are_of_activations_and_wide_tensors(void) {
    static const enum dtype types[] = {DTYPE_BF16, DTYPE_F32, DTYPE_I32, DTYPE_U8};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct graph graph;
        graph_init(&graph, DTYPE_BF16, true);
        int x = graph_input(&graph, "x", types[i], shape_2(2, 3));
        int y = graph_add(&graph, x, x);
        CU_ASSERT_EQUAL(y != TENSOR_NONE, i < 2);
        if (i < 2)
            CU_ASSERT_EQUAL(graph.tensors[y].dtype, types[i]);
        graph_done(&graph);
    }
}

static void a_graph_has_room_for_so_much_and_no_more(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_1(1));
    for (int i = 0; i < GRAPH_OPS_MAX; i++)
        CU_ASSERT_EQUAL_FATAL(graph_append(&graph, OP_RELU, "relu", &x, NULL, &err), i);
    CU_ASSERT_EQUAL(graph_append(&graph, OP_RELU, "relu", &x, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "the graph has more than 32768 operators");
    err.text[0] = '\0';
    CU_ASSERT_EQUAL(graph_insert(&graph, 0, &graph.ops[0], &err), -1);
    ASSERT_CONTAINS(err.text, "the graph has more than 32768 operators");
    CU_ASSERT_EQUAL(graph.op_count, GRAPH_OPS_MAX);
    while (graph.tensor_count < GRAPH_TENSORS_MAX)
        CU_ASSERT_FATAL(graph_tensor(&graph, "t", DTYPE_F32, shape_1(1), TENSOR_INPUT, &err) >= 0);
    CU_ASSERT_EQUAL(graph_tensor(&graph, "t", DTYPE_F32, shape_1(1), TENSOR_INPUT, &err),
                    TENSOR_NONE);
    ASSERT_CONTAINS(err.text, "the graph has more than 65536 tensors");
    CU_ASSERT_EQUAL(graph.tensor_count, GRAPH_TENSORS_MAX);
    graph_done(&graph);
}

/* relu(x) -> relu -> relu, and a ReLU's gradient that belongs to the last one. */
static void what_moves_up_is_known_by_its_new_number(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_1(4));
    int a = graph_relu(&graph, x), b = graph_relu(&graph, a), c = graph_relu(&graph, b);
    int last = graph_append(&graph, OP_RELU_GRAD, "back", (int[]){x, c}, NULL, &err);
    CU_ASSERT_EQUAL_FATAL(last, 3);
    for (int i = 0; i < 3; i++) { /* of the first, the second and the third ReLU */
        graph.ops[last].forward = i;
        struct op own = graph.ops[1];
        own.outputs[0] =
            graph_tensor(&graph, "own", DTYPE_F32, shape_1(4), TENSOR_ACTIVATION, &err);
        CU_ASSERT_EQUAL_FATAL(graph_insert(&graph, 1, &own, &err), 0);
        CU_ASSERT_EQUAL(graph.ops[++last].kind, OP_RELU_GRAD);
        CU_ASSERT_EQUAL(graph.ops[last].forward, i == 0 ? 0 : i + 1);
        CU_ASSERT_EQUAL(graph.tensors[own.outputs[0]].producer, 1);
        CU_ASSERT_EQUAL(graph.tensors[a].producer, 0);
        CU_ASSERT_EQUAL(graph.tensors[b].producer, 2 + i);
        CU_ASSERT_EQUAL(graph.tensors[x].producer, -1);
        CU_ASSERT_EQUAL(graph.ops[2 + i].outputs[0], b);
    }
    CU_ASSERT_EQUAL(graph.op_count, 7);
    graph_done(&graph);
}

static void long_names_are_cut_and_still_end(void) {
    struct graph graph;
    char name[2 * TENSOR_NAME_SIZE];
    for (size_t i = 0; i + 1 < sizeof(name); i++)
        name[i] = 'n';
    name[sizeof(name) - 1] = '\0';
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, name, DTYPE_F32, shape_1(4));
    CU_ASSERT_EQUAL(strlen(graph.tensors[x].name), TENSOR_NAME_SIZE - 1);
    name[TENSOR_NAME_SIZE - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(graph.tensors[x].name, name);
    graph_done(&graph);
}

/* Names are those of what comes from outside or is kept: operators' results are called as these. */
static void results_are_not_found_by_name(void) {
    struct graph graph;
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_1(4));
    int y = graph_relu(&graph, x);
    CU_ASSERT_EQUAL(graph_find(&graph, "relu"), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_find(&graph, "x"), x);
    (void)graph_keep(&graph, y, "relu");
    CU_ASSERT_EQUAL(graph_find(&graph, "relu"), y);
    graph.tensors[y].role = TENSOR_GRADIENT;
    CU_ASSERT_EQUAL(graph_find(&graph, "relu"), TENSOR_NONE);
    graph_done(&graph);
}

UNIT_SUITE("graph.graph", UNIT(more_losses_than_there_is_room_for_are_refused),
           UNIT(losses_move_with_their_operators), UNIT(pictures_alone_are_pooled),
           UNIT(what_has_no_gradient_is_no_loss), UNIT(rows_are_counted_by_one_whole_number),
           UNIT(only_results_can_be_kept_and_once), UNIT(sums_are_of_activations_and_wide_tensors),
           UNIT(the_first_error_of_the_builder_is_kept), UNIT(a_name_can_be_given_once),
           UNIT(groups_divide_inputs_and_outputs), UNIT(a_window_may_have_two_sides),
           UNIT(maps_lie_side_by_side), UNIT(maps_of_other_pixels_do_not_lie_side_by_side),
           UNIT(shapes_follow_from_the_inputs), UNIT(impossible_shapes_are_refused),
           UNIT(a_window_larger_than_its_picture_is_refused),
           UNIT(cost_counts_a_multiply_add_as_two), UNIT(a_graph_has_room_for_so_much_and_no_more),
           UNIT(what_moves_up_is_known_by_its_new_number), UNIT(long_names_are_cut_and_still_end),
           UNIT(results_are_not_found_by_name))
