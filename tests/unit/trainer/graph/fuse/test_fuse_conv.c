/* Rewrites that make tensors and operators, in a graph that has no more room for them. */
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/rules/op_table.h"

/* Two blocks, the first of which has a projection: every form of norm gradient that is fused with
 * the convolution after it. */
static void build(struct graph *graph) {
    const struct op_window one = {.kernel = 1, .stride = 1};
    const struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    struct error err = {0};
    graph_init(graph, DTYPE_F32, true);
    int x = graph_input(graph, "x", DTYPE_F32, shape_4(2, 4, 4, 8));
    int label = graph_input(graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(graph, "weight", DTYPE_F32, shape_1(2));
    static const char *const names[][4] = {{"a", "an", "b", "bn"}, {"c", "cn", "d", "dn"}};
    for (int i = 0; i < 2; i++) {
        int y = graph_conv2d(graph, names[i][0], x, 8, 8, one);
        y = graph_relu(graph, graph_batch_norm(graph, names[i][1], y, norm));
        y = graph_conv2d(graph, names[i][2], y, 8, 8, one);
        y = graph_batch_norm(graph, names[i][3], y, norm);
        if (i == 0)
            x = graph_batch_norm(graph, "sn", graph_conv2d(graph, "s", x, 8, 8, one), norm);
        x = graph_relu(graph, graph_add(graph, y, x));
    }
    x = graph_conv2d(graph, "last", x, 8, 8, one);
    int logits = graph_linear(graph, "fc", graph_global_avg_pool(graph, x), 4);
    (void)graph_softmax_cross_entropy(graph, logits, label, weight, 0);
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, &err), 0);
}

/* Tensors that nobody reads, and operators that read one of them, until so few more fit. */
static void fill(struct graph *graph, int for_tensors, int for_ops) {
    int last = TENSOR_NONE;
    for (int i = graph->op_count; i < GRAPH_OPS_MAX - for_ops; i++) {
        last = last == TENSOR_NONE || i % 1024 == 0
                   ? graph_tensor(graph, "filler", DTYPE_F32, shape_1(1), TENSOR_INPUT, NULL)
                   : last;
        CU_ASSERT_FATAL(graph_append(graph, OP_RELU, "filler", &last, NULL, NULL) >= 0);
    }
    while (graph->tensor_count < GRAPH_TENSORS_MAX - for_tensors)
        CU_ASSERT_FATAL(
            graph_tensor(graph, "filler", DTYPE_F32, shape_1(1), TENSOR_ACTIVATION, NULL) >= 0);
}

enum { PLENTY = 200, ALL = GRAPH_OPS_MAX };

/* Whether what graph_fuse_convolutions makes fits into so much room; else it says so. *RET_MADE:
 * tensors, if it fits. */
static bool fits(struct backend *ref, int for_tensors, int for_ops, int *ret_made) {
    struct graph graph;
    struct error err = {0};
    build(&graph);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&graph, ref, FUSION_ALL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&graph, ref, FUSION_ALL, &err), 0);
    fill(&graph, for_tensors, for_ops);
    int before = graph.tensor_count;
    int done = graph_fuse_convolutions(&graph, ref, &err);
    *ret_made = graph.tensor_count - before;
    if (done != 0)
        ASSERT_CONTAINS(err.text, "the graph has more than ");
    CU_ASSERT(done == 0 || done == -1);
    graph_done(&graph);
    return done == 0;
}

static void rewrites_have_room_for_all_that_they_make(void) {
    struct backend *ref = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, NULL), 0);
    int wanted, made;
    CU_ASSERT(fits(ref, PLENTY, ALL, &wanted));
    CU_ASSERT(wanted > 20);
    for (int room = 0; room <= wanted; room++)
        CU_ASSERT_EQUAL(fits(ref, room, ALL, &made), room == wanted);
    int ops = 0;
    while (ops < 20 && !fits(ref, PLENTY, ops, &made))
        ops++;
    CU_ASSERT_EQUAL(made, wanted);
    CU_ASSERT(ops > 0 && ops < 20);
    backend_close(ref);
}

UNIT_SUITE("graph.fuse_conv", UNIT(rewrites_have_room_for_all_that_they_make))
