/* Which biases and frozen norms are fused into the convolution before them, and with what. Graphs
 * are for inference, where every norm is frozen. They are fused for the reference backend, which
 * has all fused operators, and looked at; nothing is computed. */
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/fuse/fuse.h"

#include <stdio.h>

enum { CHANNELS = 8 };

static const struct op_window window = {.kernel = 3, .stride = 1, .pad = 1};

/* A graph with its input x [2, 4, 4, CHANNELS]. */
struct net {
    struct graph graph;
    struct backend *backend;
    int x;
};

static void begin(struct net *n) {
    *n = (struct net){0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&n->backend, NULL), 0);
    graph_init(&n->graph, DTYPE_F32, false);
    n->x = graph_input(&n->graph, "x", DTYPE_F32, shape_4(2, 4, 4, CHANNELS));
}

static void end(struct net *n) {
    graph_done(&n->graph);
    backend_close(n->backend);
}

/* A convolution of x that keeps its shape. */
static int conv(struct net *n, const char *name) {
    return graph_conv2d(&n->graph, name, n->x, CHANNELS, CHANNELS, window);
}

/* A norm of X; EPSILON differs from the usual one, to see that it is carried over. */
static int norm(struct net *n, const char *name, int x, double epsilon) {
    return graph_batch_norm(&n->graph, name, x,
                            (struct norm_options){.epsilon = epsilon, .momentum = 0.1});
}

static int named(const struct net *n, const char *name) {
    int tensor = graph_find(&n->graph, name);
    CU_ASSERT_FATAL(tensor >= 0);
    return tensor;
}

/* Keeps Y as "y", ends the description, and fuses at LEVEL. */
static void fuse(struct net *n, int y, enum fusion level) {
    struct error err = {0};
    (void)graph_keep(&n->graph, y, "y");
    CU_ASSERT_EQUAL_FATAL(graph_finish(&n->graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&n->graph, n->backend, level, &err), 0);
}

static int count(const struct net *n, enum op_kind kind) {
    int found = 0;
    for (int i = 0; i < n->graph.op_count; i++)
        found += n->graph.ops[i].kind == kind;
    return found;
}

/* The operator that makes the kept tensor. */
static const struct op *last(const struct net *n) {
    return &n->graph.ops[n->graph.tensors[named(n, "y")].producer];
}

/* One operator remains, with and without a ReLU; slots of a norm are empty. */
static void a_bias_goes_into_its_convolution(void) {
    for (int relu = 0; relu < 2; relu++) {
        struct net n;
        begin(&n);
        fuse(&n, graph_conv2d_bias(&n.graph, "a", n.x, CHANNELS, CHANNELS, window, relu == 1),
             FUSION_NORM);
        CU_ASSERT_EQUAL_FATAL(n.graph.op_count, 1);
        const struct op *op = last(&n);
        CU_ASSERT_EQUAL(op->kind, OP_CONV2D_AFFINE);
        CU_ASSERT_EQUAL(op->inputs[AFFINE_X], n.x);
        CU_ASSERT_EQUAL(op->inputs[AFFINE_W], named(&n, "a.weight"));
        CU_ASSERT_EQUAL(op->inputs[AFFINE_BIAS], named(&n, "a.bias"));
        for (int i = AFFINE_GAMMA; i < AFFINE_INPUTS; i++)
            CU_ASSERT_EQUAL(op->inputs[i], TENSOR_NONE);
        CU_ASSERT_EQUAL(op->attr.relu, relu == 1);
        CU_ASSERT_EQUAL(op->attr.window.pad, 1);
        end(&n);
    }
}

/* Fails unless OP is a convolution with the norm NAME and no bias. */
static void check_norm(const struct net *n, const struct op *op, const char *name, double epsilon) {
    static const char *const parts[] = {".weight", ".bias", ".running_mean", ".running_var"};
    char text[64];
    CU_ASSERT_EQUAL(op->kind, OP_CONV2D_AFFINE);
    CU_ASSERT_EQUAL(op->inputs[AFFINE_BIAS], TENSOR_NONE);
    CU_ASSERT_EQUAL(op->attr.epsilon, epsilon);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(text, sizeof(text), "%s%s", name, parts[i]);
        CU_ASSERT_EQUAL(op->inputs[AFFINE_GAMMA + i], named(n, text));
    }
}

/* Plain, with a ReLU, and with a sum and a ReLU. */
static void a_frozen_norm_goes_into_its_convolution(void) {
    for (int form = 0; form < 3; form++) {
        struct net n;
        begin(&n);
        int y = norm(&n, "an", conv(&n, "a"), 1e-3);
        if (form == 2)
            y = graph_add(&n.graph, y, n.x);
        fuse(&n, form == 0 ? y : graph_relu(&n.graph, y), FUSION_NORM);
        CU_ASSERT_EQUAL_FATAL(n.graph.op_count, 1);
        check_norm(&n, last(&n), "an", 1e-3);
        CU_ASSERT_EQUAL(last(&n)->inputs[AFFINE_SIDE], form == 2 ? n.x : TENSOR_NONE);
        CU_ASSERT_EQUAL(last(&n)->attr.relu, form > 0);
        end(&n);
    }
}

/* Two operators remain: the second convolution with its norm, and the first with its norm, the sum
 * and the ReLU. */
static void both_norms_of_a_join_go_into_their_own(void) {
    struct net n;
    begin(&n);
    int a = norm(&n, "an", conv(&n, "a"), 1e-3), b = norm(&n, "bn", conv(&n, "b"), 1e-3);
    fuse(&n, graph_relu(&n.graph, graph_add(&n.graph, a, b)), FUSION_NORM);
    CU_ASSERT_EQUAL_FATAL(n.graph.op_count, 2);
    const struct op *first = last(&n);
    const struct op *second = &n.graph.ops[n.graph.tensors[first->inputs[AFFINE_SIDE]].producer];
    check_norm(&n, first, "an", 1e-3);
    check_norm(&n, second, "bn", 1e-3);
    CU_ASSERT_EQUAL(first->inputs[AFFINE_W], named(&n, "a.weight"));
    CU_ASSERT_EQUAL(second->inputs[AFFINE_W], named(&n, "b.weight"));
    CU_ASSERT(first->attr.relu && !second->attr.relu);
    CU_ASSERT_EQUAL(second->inputs[AFFINE_SIDE], TENSOR_NONE);
    end(&n);
}

static void without_fusion_nothing_goes_anywhere(void) {
    struct net n;
    begin(&n);
    fuse(&n, norm(&n, "an", conv(&n, "a"), 1e-3), FUSION_NONE);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_AFFINE), 0);
    CU_ASSERT_EQUAL(n.graph.op_count, 2);
    end(&n);
}

/* If another operator reads a convolution's result, the convolution has to produce it. A bias, a
 * norm, and a join with either convolution read again are left as they are. */
static void a_result_that_is_read_again_stays(void) {
    for (int form = 0; form < 4; form++) {
        struct net n;
        begin(&n);
        int a = conv(&n, "a"), b = conv(&n, "b"), y = a;
        int bias = graph_bias_parameter(&n.graph, "a", CHANNELS, INIT_ZERO, 0);
        if (form == 0)
            y = graph_bias(&n.graph, "a", a, bias, false);
        else
            y = norm(&n, "an", a, 1e-3);
        if (form > 1)
            y = graph_relu(&n.graph, graph_add(&n.graph, y, norm(&n, "bn", b, 1e-3)));
        (void)graph_keep(&n.graph, graph_relu(&n.graph, form == 3 ? b : a), "other");
        fuse(&n, y, FUSION_NORM);
        CU_ASSERT_EQUAL(count(&n, OP_CONV2D_AFFINE), 0);
        end(&n);
    }
}

static struct backend_table poor_table;
static int supported; /* so many fused convolutions; then no more */

/* A backend with a limited number of fused convolutions, to refuse the second half of a rewrite. */
static bool supports_few(const struct backend *backend, const struct graph *graph,
                         const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind != OP_CONV2D_AFFINE || supported-- > 0;
}

/* The join stays if none or one of its two convolutions is supported: two convolutions, and a norm
 * that includes the other one. */
static void a_join_is_fused_whole_or_not_at_all(void) {
    for (supported = 0; supported < 2;) {
        struct net n;
        const int wanted = supported;
        begin(&n);
        poor_table = *n.backend->table;
        poor_table.supports = supports_few;
        n.backend->table = &poor_table;
        int a = norm(&n, "an", conv(&n, "a"), 1e-3), b = norm(&n, "bn", conv(&n, "b"), 1e-3);
        fuse(&n, graph_relu(&n.graph, graph_add(&n.graph, a, b)), FUSION_NORM);
        CU_ASSERT_EQUAL(count(&n, OP_CONV2D_AFFINE), 0);
        CU_ASSERT_EQUAL(count(&n, OP_CONV2D), 2);
        CU_ASSERT_EQUAL(count(&n, OP_BATCH_NORM_INFERENCE), 1);
        supported = wanted + 1;
        end(&n);
    }
}

UNIT_SUITE("graph.fuse_affine", UNIT(a_bias_goes_into_its_convolution),
           UNIT(a_frozen_norm_goes_into_its_convolution),
           UNIT(both_norms_of_a_join_go_into_their_own), UNIT(without_fusion_nothing_goes_anywhere),
           UNIT(a_result_that_is_read_again_stays), UNIT(a_join_is_fused_whole_or_not_at_all))
