#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/gradient/backward.h"

#include <math.h>
#include <stdlib.h>

static int count_form(const struct graph *graph, enum op_kind kind, enum norm_form form) {
    int count = 0;
    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i].kind == kind && graph->ops[i].attr.form == form;
    return count;
}

/* ResNet-50 through the passes that rewrite, without its memory. */
static void rewrite_at(struct net *net, bool training, enum fusion level) {
    struct error err = {0};
    *net = (struct net){.config = net_config("resnet50", 1, 32, training)};
    CU_ASSERT_EQUAL_FATAL(ref_open(&net->backend, &err), 0);
    CU_ASSERT_EQUAL_FATAL(resnet_build(&net->graph, &net->config, &net->tensors, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&net->graph, net->backend, level, &err), 0);
    if (!training)
        return;
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&net->graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&net->graph, net->backend, level, &err), 0);
    if (level >= FUSION_CONV)
        CU_ASSERT_EQUAL_FATAL(graph_fuse_convolutions(&net->graph, net->backend, &err), 0);
}

static void rewrite_done(struct net *net) {
    graph_done(&net->graph);
    backend_close(net->backend);
}

static void without_fusion_every_operator_stands_alone(void) {
    struct net net;
    rewrite_at(&net, true, FUSION_NONE);
    CU_ASSERT_EQUAL(net_count(&net, OP_BATCH_NORM), 53);
    CU_ASSERT_EQUAL(net_count(&net, OP_RELU), 49);
    CU_ASSERT_EQUAL(net_count(&net, OP_BATCH_NORM_GRAD), 53);
    CU_ASSERT_EQUAL(net_count(&net, OP_RELU_GRAD), 49);
    CU_ASSERT_EQUAL(net_count(&net, OP_ADD), 16 + 16); /* joins, and their gradients' sums */
    rewrite_done(&net);
}

static void norms_swallow_relus_joins_and_gradient_sums(void) {
    struct net net;
    rewrite_at(&net, true, FUSION_NORM);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_PLAIN), 0);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_RELU), 33);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_ADD_RELU), 12);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_DUAL_ADD_RELU), 4);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_GRAD, NORM_RELU), 33);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_GRAD, NORM_ADD_RELU), 12);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_GRAD, NORM_DUAL_ADD_RELU), 4);
    CU_ASSERT_EQUAL(net_count(&net, OP_RELU), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_ADD), 1); /* after the max pool */
    rewrite_done(&net);
}

static void all_swallows_the_pool_of_the_stem_too(void) {
    struct net net;
    rewrite_at(&net, true, FUSION_ALL);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_RELU), 32);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_RELU_MAX_POOL), 1);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_GRAD, NORM_RELU_MAX_POOL), 1);
    CU_ASSERT_EQUAL(net_count(&net, OP_MAX_POOL), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_ADD), 0);
    rewrite_done(&net);
}

static void inference_fuses_with_its_own_operators(void) {
    struct net net;
    rewrite_at(&net, false, FUSION_ALL);
    /* Every norm goes into its convolution: 33 with a ReLU, 12 + 4 joins, and 4 sides of those. */
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_AFFINE), 53);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_MAX_POOL), 1);
    CU_ASSERT_EQUAL(net_count(&net, OP_ADD), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_RELU), 0);
    rewrite_done(&net);
}

/* The reference without the operator in `lacking`; of a norm, in that form. */
static struct backend_table poor_table;
static enum op_kind lacking;
static enum norm_form lacking_form;

static bool poor_supports(const struct backend *backend, const struct graph *graph,
                          const struct op *op);

static void without_a_fused_convolution_norms_of_inference_stand_alone(void) {
    struct net net = {.config = net_config("resnet50", 1, 32, false)};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&net.backend, &err), 0);
    lacking = OP_CONV2D_AFFINE;
    lacking_form = NORM_PLAIN; /* as of all that are no norms */
    poor_table = *net.backend->table;
    poor_table.supports = poor_supports;
    net.backend->table = &poor_table;
    CU_ASSERT_EQUAL_FATAL(resnet_build(&net.graph, &net.config, &net.tensors, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&net.graph, net.backend, FUSION_ALL, &err), 0);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_INFERENCE, NORM_PLAIN), 0);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_INFERENCE, NORM_RELU), 33);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_INFERENCE, NORM_ADD_RELU), 12);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_INFERENCE, NORM_DUAL_ADD_RELU), 4);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D), 53);
    rewrite_done(&net);
}

/* Counted by hand: 53 convolutions. All 53 norms are split except the stem's (its ReLU goes with
 * the pool). Each of the 32 norm + ReLU pairs comes right before one convolution, and so do all 16
 * joins except the last, which the average pool reads. In the backward pass, each norm + ReLU gets
 * its gradient from one convolution, each join except the last from one convolution and a shortcut,
 * and the stem's pool from two convolutions that stay plain. Of the 32 pairs, the 16 before a 1x1
 * convolution take over its whole backward pass, except for the last one: the norm after that
 * convolution is not split. So do 8 of the 11 joins: for the other three, the mask is applied by a
 * shortcut with stride 2, which the reference supports. These three convolutions, and the two 1x1
 * convolutions after the stem's pool, then have no norm before them. */
enum { BETWEEN_NORMS = 15, BEHIND_JOINS = 8, STRIDED = 3, PLAIN = STRIDED + 2 };
static void convolutions_swallow_the_norms_around_them(void) {
    struct net net;
    rewrite_at(&net, true, FUSION_CONV);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_FINALIZE), 52);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_CONV2D_STATS), 32);
    CU_ASSERT_EQUAL(net_count(&net, OP_JOIN_CONV2D_STATS), 11);
    CU_ASSERT_EQUAL(net_count(&net, OP_DUAL_JOIN_CONV2D_STATS), 4);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_STATS), 5); /* layer1.0.conv1, four projections */
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D), 1);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_APPLY_RELU), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_JOIN_APPLY_RELU), 1);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD_NORM), BETWEEN_NORMS);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_CONV2D_GRAD_WEIGHT), 32 - BETWEEN_NORMS);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD_JOIN), BEHIND_JOINS);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD), PLAIN);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_WEIGHT), 21 - BEHIND_JOINS - PLAIN);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA_NORM), 32 - BETWEEN_NORMS);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA_ADD_JOIN), STRIDED);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN), 4);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_GRAD_APPLY),
                    32 + 11 + 2 * 4 - BETWEEN_NORMS - BEHIND_JOINS - PLAIN);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA), 5 - PLAIN);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM_GRAD, NORM_ADD_RELU), 1);
    rewrite_done(&net);
}

static bool poor_supports(const struct backend *backend, const struct graph *graph,
                          const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind != lacking || op->attr.form != lacking_form;
}

static void what_a_backend_lacks_is_fused_less(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    poor_table = *backend->table;
    poor_table.supports = poor_supports;
    backend->table = &poor_table;
    lacking = OP_BATCH_NORM;
    lacking_form = NORM_DUAL_ADD_RELU;
    struct net net;
    net_init(&net, backend, net_config("bottleneck", 1, 32, true),
             (struct compile_options){.fusion = FUSION_ALL});
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_ADD_RELU), 4);
    CU_ASSERT_EQUAL(count_form(&net.graph, OP_BATCH_NORM, NORM_PLAIN), 2);
    net_done(&net);
}

static void a_plain_operator_that_is_lacking_is_an_error_that_names_it(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    struct graph graph;
    struct resnet_tensors tensors;
    struct program program;
    struct store store = {0};
    struct resnet_config config = net_config("resnet20", 1, 32, true);
    struct compile_options options = {.fusion = FUSION_NONE};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    poor_table = *backend->table;
    poor_table.supports = poor_supports;
    backend->table = &poor_table;
    lacking = OP_CONV2D_GRAD_DATA;
    lacking_form = NORM_PLAIN;
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    CU_ASSERT_EQUAL(program_compile(&program, &graph, &store, backend, &options, &err), -1);
    ASSERT_CONTAINS(err.text, "conv2d_grad_data layer3.2.conv2 [1, 8, 8, 64]");
    program_done(&program);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

static void a_kept_tensor_is_not_fused_away(void) {
    struct graph graph;
    struct error err = {0};
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 8));
    x = graph_batch_norm(&graph, "bn", x, (struct norm_options){.epsilon = 1e-5});
    int y = graph_relu(&graph, graph_keep(&graph, x, "middle"));
    CU_ASSERT_NOT_EQUAL(graph_keep(&graph, y, "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_fuse(&graph, backend, FUSION_ALL, &err), 0);
    CU_ASSERT_EQUAL(graph.op_count, 2);
    graph_done(&graph);
    backend_close(backend);
}

static void a_tensor_with_two_readers_is_not_fused_away(void) {
    struct graph graph;
    struct error err = {0};
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 8));
    int norm = graph_batch_norm(&graph, "bn", x, (struct norm_options){.epsilon = 1e-5});
    int y = graph_max_pool(&graph, graph_relu(&graph, norm),
                           (struct op_window){.kernel = 2, .stride = 2});
    int z = graph_max_pool(&graph, norm, (struct op_window){.kernel = 2, .stride = 2});
    CU_ASSERT_NOT_EQUAL(graph_keep(&graph, graph_add(&graph, y, z), "sum"), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_fuse(&graph, backend, FUSION_ALL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph.op_count, 5);
    CU_ASSERT_EQUAL(graph.ops[0].kind, OP_BATCH_NORM_INFERENCE);
    CU_ASSERT_EQUAL(graph.ops[1].kind, OP_RELU);
    graph_done(&graph);
    backend_close(backend);
}

/* relu(a(x) + b(x)) of two norms that differ in one number: the first one takes the join alone. */
static void norms_that_differ_are_not_one(void) {
    static const struct norm_options others[] = {
        {1e-5, 0.1, INIT_ONE}, {1e-3, 0.1, INIT_ONE}, {1e-5, 0.2, INIT_ONE}};
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    for (int i = 0; i < 3; i++) {
        struct graph graph;
        graph_init(&graph, DTYPE_F32, true);
        int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 8));
        int a = graph_batch_norm(&graph, "a", x, others[0]);
        int b = graph_batch_norm(&graph, "b", x, others[i]);
        CU_ASSERT_NOT_EQUAL(graph_keep(&graph, graph_relu(&graph, graph_add(&graph, a, b)), "y"),
                            TENSOR_NONE);
        CU_ASSERT_EQUAL(graph_fuse(&graph, backend, FUSION_NORM, &err), 0);
        CU_ASSERT_EQUAL(count_form(&graph, OP_BATCH_NORM, NORM_DUAL_ADD_RELU), i == 0);
        CU_ASSERT_EQUAL(count_form(&graph, OP_BATCH_NORM, NORM_ADD_RELU), i > 0);
        CU_ASSERT_EQUAL(count_form(&graph, OP_BATCH_NORM, NORM_PLAIN), i > 0);
        graph_done(&graph);
    }
    backend_close(backend);
}

static int count_kind(const struct graph *graph, enum op_kind kind) {
    int count = 0;
    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i].kind == kind;
    return count;
}

/* The loss of X's means by a linear layer. */
static void end_with_loss(struct graph *graph, int x) {
    struct error err = {0};
    int label = graph_input(graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(graph, "weight", DTYPE_F32, shape_1(2));
    int logits = graph_linear(graph, "fc", graph_global_avg_pool(graph, x), 4);
    (void)graph_softmax_cross_entropy(graph, logits, label, weight, 0);
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, &err), 0);
}

/* A norm's result with three readers has two sums of gradients; its gradient has room for one. */
static void a_norm_adds_two_gradients_and_never_drops_a_third(void) {
    struct graph graph;
    struct error err = {0};
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 8));
    struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    int n = graph_batch_norm(&graph, "bn", x, norm);
    struct op_window window = {.kernel = 2, .stride = 2};
    int sum = graph_add(&graph, graph_max_pool(&graph, n, window),
                        graph_max_pool(&graph, graph_relu(&graph, n), window));
    end_with_loss(&graph, graph_add(&graph, sum, graph_max_pool(&graph, n, window)));
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_ADD), 2 + 2);
    for (int pass = 0; pass < 3; pass++) {
        CU_ASSERT_EQUAL_FATAL(graph_fuse(&graph, backend, FUSION_ALL, &err), 0);
        CU_ASSERT_EQUAL(count_kind(&graph, OP_ADD), 2 + 1);
        CU_ASSERT_EQUAL(count_kind(&graph, OP_MAX_POOL_GRAD), 3);
    }
    graph_done(&graph);
    backend_close(backend);
}

/* relu(norm(c) + norm2(c)) of one convolution c. */
static void two_norms_of_one_convolution_keep_their_own_statistics(void) {
    struct graph graph;
    struct error err = {0};
    struct backend *backend = NULL;
    struct program program;
    struct store store = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 8));
    struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    x = graph_conv2d(&graph, "conv", x, 8, 8, (struct op_window){.kernel = 1, .stride = 1});
    int a = graph_batch_norm(&graph, "a", x, norm), b = graph_batch_norm(&graph, "b", x, norm);
    end_with_loss(&graph, graph_relu(&graph, graph_add(&graph, a, b)));
    struct compile_options options = {.fusion = FUSION_CONV};
    CU_ASSERT_EQUAL(program_compile(&program, &graph, &store, backend, &options, &err), 0);
    CU_ASSERT_EQUAL(count_form(&graph, OP_BATCH_NORM, NORM_DUAL_ADD_RELU), 1);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_NORM_FINALIZE), 0);
    program_done(&program);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

/* conv -> norm -> ReLU -> conv -> norm -> ReLU with counted rows. */
static void what_is_fused_keeps_its_rows(void) {
    struct graph graph;
    struct error err = {0};
    struct backend *backend = NULL;
    struct program program;
    struct store store = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 8));
    int rows = graph_input(&graph, "rows", DTYPE_I32, shape_1(1));
    graph_rows(&graph, rows);
    for (int i = 0; i < 2; i++) {
        x = graph_conv2d(&graph, i == 0 ? "conv1" : "conv2", x, 8, 8,
                         (struct op_window){.kernel = 1, .stride = 1});
        x = graph_relu(&graph, graph_batch_norm(&graph, i == 0 ? "bn1" : "bn2", x,
                                                (struct norm_options){1e-5, 0.1, INIT_ONE}));
    }
    graph_rows(&graph, TENSOR_NONE);
    end_with_loss(&graph, x);
    struct compile_options options = {.fusion = FUSION_CONV};
    CU_ASSERT_EQUAL_FATAL(program_compile(&program, &graph, &store, backend, &options, &err), 0);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_NORM_CONV2D_STATS), 1);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_NORM_APPLY_RELU), 1);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_NORM_GRAD_APPLY), 1);
    for (int i = 0; i < graph.op_count; i++) {
        const struct op *op = &graph.ops[i];
        bool whole = op->kind == OP_NORM_FINALIZE || strcmp(op->name, "fc") == 0 ||
                     strcmp(op->name, "loss") == 0 || strcmp(op->name, "global_avg_pool") == 0;
        CU_ASSERT_EQUAL(op->rows, whole ? TENSOR_NONE : rows);
    }
    program_done(&program);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

/* Loss and every gradient of one step of a whole network in double, where nothing but the order
 * of sums can differ. */
static void every_level_gives_the_same_gradients(void) {
    static const char *const models[] = {"resnet20", "bottleneck"};
    for (size_t m = 0; m < 2; m++) {
        struct net plain, fused;
        struct resnet_config config = net_config(models[m], 3, 12, true);
        config.dtype = DTYPE_F64;
        net_init(&plain, NULL, config, (struct compile_options){.fusion = FUSION_NONE});
        net_start(&plain);
        net_fill(&plain, 5);
        net_run(&plain, NULL);
        for (enum fusion level = FUSION_NORM; level <= FUSION_CONV; level++) {
            net_init(&fused, NULL, config, (struct compile_options){.fusion = level});
            net_start(&fused);
            CU_ASSERT_EQUAL(net_count(&fused, OP_NORM_FINALIZE) > 0, level == FUSION_CONV);
            net_fill(&fused, 5);
            net_run(&fused, NULL);
            for (int i = 0; i < plain.store.slot_count; i++) {
                const struct store_slot *slot = &plain.store.slots[i];
                const struct store_slot *same = store_find(&fused.store, slot->name);
                enum store_arena arena = slot->home == STORE_STATE ? STORE_STATE : STORE_GRADIENTS;
                const double *a = store_at(&plain.store, slot, arena);
                const double *b = store_at(&fused.store, same, arena);
                double worst = 0, largest = 0;
                for (size_t k = 0; k < slot->count; k++) {
                    worst = fmax(worst, fabs(a[k] - b[k]));
                    largest = fmax(largest, fabs(a[k]));
                }
                CU_ASSERT(worst <= 1e-9 * largest + 1e-15);
            }
            net_done(&fused);
        }
        net_done(&plain);
    }
}

/* relu(norm(conv(image))) of frozen layers, a trained convolution, and a join of what it makes with
 * it: by a frozen norm on the one side and, if MIXED, a trained one on the other. */
static void build_frozen(struct graph *graph, bool mixed) {
    const struct norm_options norm = {.epsilon = 1e-5, .momentum = 0.1, .gamma = INIT_ONE};
    const struct op_window window = {.kernel = 1, .stride = 1};
    graph_init(graph, DTYPE_F32, true);
    int x = graph_input(graph, "x", DTYPE_F32, shape_4(1, 4, 4, 8));
    graph_freeze(graph, true);
    x = graph_conv2d(graph, "a", x, 8, 8, window);
    x = graph_relu(graph, graph_batch_norm(graph, "an", x, norm));
    graph_freeze(graph, false);
    int y = graph_conv2d(graph, "b", x, 8, 8, window);
    graph_freeze(graph, true);
    y = graph_batch_norm(graph, "bn", y, norm);
    graph_freeze(graph, false);
    int side = graph_conv2d(graph, "c", x, 8, 8, window);
    graph_freeze(graph, !mixed);
    side = graph_batch_norm(graph, "cn", side, norm);
    graph_freeze(graph, false);
    y = graph_relu(graph, graph_add(graph, y, side));
    int logits = graph_linear(graph, "fc", graph_global_avg_pool(graph, y), 3);
    (void)graph_softmax_cross_entropy(graph, logits,
                                      graph_input(graph, "label", DTYPE_I32, shape_1(1)),
                                      graph_input(graph, "weight", DTYPE_F32, shape_1(1)), 0);
}

static void frozen_norms_fuse_with_their_own_operators_in_training(void) {
    for (int mixed = 0; mixed < 2; mixed++) {
        struct graph graph;
        struct backend *ref = NULL;
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
        build_frozen(&graph, mixed);
        CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
        CU_ASSERT_EQUAL(graph_fuse(&graph, ref, FUSION_ALL, &err), 0);
        CU_ASSERT_EQUAL(graph_add_gradients(&graph, &err), 0);
        CU_ASSERT_EQUAL(graph_fuse(&graph, ref, FUSION_ALL, &err), 0);
        /* If the norms differ, the join is fused with the first, and the other is left as it is. */
        CU_ASSERT_EQUAL(count_kind(&graph, OP_CONV2D_AFFINE), mixed ? 2 : 3);
        CU_ASSERT_EQUAL(count_form(&graph, OP_BATCH_NORM, NORM_PLAIN), mixed);
        CU_ASSERT_EQUAL(count_kind(&graph, OP_CONV2D), mixed);
        CU_ASSERT_EQUAL(count_kind(&graph, OP_RELU), 0);
        /* Nothing before the first norm is trained, so no gradient flows there; the side's norm
         * follows a convolution of its own. */
        CU_ASSERT_EQUAL(count_kind(&graph, OP_FROZEN_NORM_GRAD), mixed ? 1 : 2);
        CU_ASSERT_EQUAL(count_kind(&graph, OP_CONV2D_GRAD_WEIGHT), 2);
        CU_ASSERT_EQUAL(count_kind(&graph, OP_CONV2D_GRAD_DATA), 0);
        graph_done(&graph);
        backend_close(ref);
    }
}

static void levels_have_names(void) {
    enum fusion level;
    struct error err = {0};
    for (enum fusion i = FUSION_NONE; i <= FUSION_CONV; i++) {
        CU_ASSERT_EQUAL(fusion_parse(fusion_name(i), &level, &err), 0);
        CU_ASSERT_EQUAL(level, i);
    }
    CU_ASSERT_EQUAL(fusion_parse("some", &level, &err), -1);
    ASSERT_CONTAINS(err.text, "'some'");
}

UNIT_SUITE("graph.fuse", UNIT(without_fusion_every_operator_stands_alone),
           UNIT(norms_swallow_relus_joins_and_gradient_sums),
           UNIT(all_swallows_the_pool_of_the_stem_too),
           UNIT(convolutions_swallow_the_norms_around_them),
           UNIT(inference_fuses_with_its_own_operators),
           UNIT(without_a_fused_convolution_norms_of_inference_stand_alone),
           UNIT(frozen_norms_fuse_with_their_own_operators_in_training),
           UNIT(what_a_backend_lacks_is_fused_less),
           UNIT(a_plain_operator_that_is_lacking_is_an_error_that_names_it),
           UNIT(norms_that_differ_are_not_one), UNIT(a_kept_tensor_is_not_fused_away),
           UNIT(a_tensor_with_two_readers_is_not_fused_away),
           UNIT(a_norm_adds_two_gradients_and_never_drops_a_third),
           UNIT(two_norms_of_one_convolution_keep_their_own_statistics),
           UNIT(what_is_fused_keeps_its_rows), UNIT(every_level_gives_the_same_gradients),
           UNIT(levels_have_names))
