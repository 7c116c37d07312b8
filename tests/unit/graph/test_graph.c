#include "graph/graph.h"
#include "support/unit.h"

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

static void a_name_can_be_given_once(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    (void)graph_parameter(&graph, "w", shape_1(3), INIT_ZERO, 0);
    (void)graph_state(&graph, "w", shape_1(3), INIT_ZERO);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "two tensors are called w");
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
        ASSERT_CONTAINS(err.text, "x: shape");
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

static void a_second_loss_is_refused(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int logits = graph_input(&graph, "logits", DTYPE_F32, shape_2(2, 3));
    int labels = graph_input(&graph, "labels", DTYPE_I32, shape_1(2));
    int weights = graph_input(&graph, "weights", DTYPE_F32, shape_1(2));
    CU_ASSERT(graph_softmax_cross_entropy(&graph, logits, labels, weights, 0) >= 0);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL(graph_softmax_cross_entropy(&graph, logits, labels, weights, 0), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "a second loss");
    graph_done(&graph);
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

UNIT_MAIN("graph.graph", UNIT(a_second_loss_is_refused), UNIT(only_results_can_be_kept_and_once),
          UNIT(sums_are_of_activations_and_wide_tensors),
          UNIT(the_first_error_of_the_builder_is_kept), UNIT(a_name_can_be_given_once),
          UNIT(shapes_follow_from_the_inputs), UNIT(impossible_shapes_are_refused),
          UNIT(a_window_larger_than_its_picture_is_refused),
          UNIT(cost_counts_a_multiply_add_as_two))
