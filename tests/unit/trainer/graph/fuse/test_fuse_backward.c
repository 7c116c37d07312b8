/* Which backward passes of convolutions that precede norms become one operator. */
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/gradient/backward.h"

static struct backend_table poor_table;

static bool supports_none(const struct backend *backend, const struct graph *graph,
                          const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind < OP_CONV2D_BACKWARD || op->kind > OP_CONV2D_BACKWARD_JOIN;
}

/* Like cuDNN: a join's mask is not supported in a convolution with a stride. */
static bool supports_no_stride(const struct backend *backend, const struct graph *graph,
                               const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind != OP_CONV2D_GRAD_DATA_ADD_JOIN || op->attr.window.stride == 1;
}

/* MODEL's step at FUSION_CONV, without its memory, on ref as far as SUPPORTS says. */
static void rewrite(struct net *net, const char *model,
                    bool (*supports)(const struct backend *backend, const struct graph *graph,
                                     const struct op *op)) {
    struct error err = {0};
    *net = (struct net){.config = net_config(model, 1, 32, true)};
    CU_ASSERT_EQUAL_FATAL(ref_open(&net->backend, &err), 0);
    poor_table = *net->backend->table;
    poor_table.supports = supports;
    net->backend->table = &poor_table;
    CU_ASSERT_EQUAL_FATAL(resnet_build(&net->graph, &net->config, &net->tensors, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&net->graph, net->backend, FUSION_CONV, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&net->graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&net->graph, net->backend, FUSION_CONV, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse_convolutions(&net->graph, net->backend, &err), 0);
}

static void rewrite_done(struct net *net) {
    graph_done(&net->graph);
    backend_close(net->backend);
}

static void a_backend_that_lacks_it_keeps_the_three_operators(void) {
    struct net net;
    rewrite(&net, "resnet50", supports_none);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD_NORM), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD_JOIN), 0);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_CONV2D_GRAD_WEIGHT), 32);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA_ADD_JOIN), 11);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA_NORM), 32);
    CU_ASSERT_EQUAL(net_count(&net, OP_NORM_GRAD_APPLY), 32 + 11 + 2 * 4);
    rewrite_done(&net);
}

/* All of the last convolutions of a bottleneck, which quadruples the channels, but the network's
 * last. */
static void last_convolutions_of_bottlenecks_become_one(void) {
    struct net net;
    rewrite(&net, "resnet50", supports_no_stride);
    int found = 0;
    for (int i = 0; i < net.graph.op_count; i++) {
        const struct op *op = &net.graph.ops[i];
        if (op->kind != OP_CONV2D_BACKWARD_NORM)
            continue;
        const struct tensor *tensors = net.graph.tensors;
        const struct tensor *dw = &tensors[op->outputs[CONV_BACKWARD_DW]];
        found++;
        CU_ASSERT_EQUAL(tensors[op->inputs[CONV_BACKWARD_G]].shape.dim[3],
                        4 * tensors[op->inputs[CONV_BACKWARD_X]].shape.dim[3]);
        CU_ASSERT_EQUAL(dw->role, TENSOR_GRADIENT);
        CU_ASSERT_EQUAL(dw->producer, i);
        CU_ASSERT_EQUAL(tensors[op->outputs[CONV_BACKWARD_DX]].producer, i);
        ASSERT_CONTAINS(op->name, "conv3");
    }
    CU_ASSERT_EQUAL(found, 15);
    rewrite_done(&net);
}

/* The first convolutions of bottlenecks after a join of one norm: the gradient of the shortcut is
 * made before it, and the result is the gradient of what the join was made of. */
static void first_convolutions_behind_a_join_become_one(void) {
    struct net net;
    rewrite(&net, "resnet50", supports_no_stride);
    int found = 0;
    for (int i = 0; i < net.graph.op_count; i++) {
        const struct op *op = &net.graph.ops[i];
        if (op->kind != OP_CONV2D_BACKWARD_JOIN)
            continue;
        const struct tensor *tensors = net.graph.tensors;
        const struct tensor *y = &tensors[op->inputs[CONV_BACKWARD_Y]];
        const struct op *join = &net.graph.ops[y->producer];
        found++;
        CU_ASSERT_EQUAL(join->kind, OP_JOIN_CONV2D_STATS);
        CU_ASSERT_EQUAL(join->inputs[FUSED_CONV_X], op->inputs[CONV_BACKWARD_X]);
        CU_ASSERT(tensors[op->inputs[CONV_BACKWARD_SHORTCUT]].producer < i);
        CU_ASSERT(tensors[op->inputs[CONV_BACKWARD_SHORTCUT]].producer >= 0);
        CU_ASSERT_EQUAL(op->inputs[CONV_BACKWARD_BETA], TENSOR_NONE);
        CU_ASSERT_EQUAL(tensors[op->outputs[CONV_BACKWARD_DW]].role, TENSOR_GRADIENT);
        CU_ASSERT_EQUAL(tensors[op->outputs[CONV_BACKWARD_DX]].producer, i);
        ASSERT_CONTAINS(op->name, "conv1");
    }
    CU_ASSERT_EQUAL(found, 11);
    rewrite_done(&net);
}

/* Both read the pool; a shortcut with stride 2 stays three operators. */
static void convolutions_behind_the_pool_become_one(void) {
    struct net net;
    int found = 0;
    rewrite(&net, "resnet50", supports_no_stride);
    for (int i = 0; i < net.graph.op_count; i++) {
        const struct op *op = &net.graph.ops[i];
        if (op->kind != OP_CONV2D_BACKWARD)
            continue;
        const struct tensor *y = &net.graph.tensors[op->inputs[CONV_BACKWARD_Y]];
        found++;
        CU_ASSERT_EQUAL(net.graph.ops[y->producer].kind, OP_BATCH_NORM);
        CU_ASSERT_EQUAL(net.graph.ops[y->producer].attr.form, NORM_RELU_MAX_POOL);
        CU_ASSERT_EQUAL(op->inputs[CONV_BACKWARD_X], TENSOR_NONE);
        CU_ASSERT_EQUAL(op->outputs[CONV_BACKWARD_DGAMMA], TENSOR_NONE);
        ASSERT_CONTAINS(op->name, "layer1.0.");
    }
    CU_ASSERT_EQUAL(found, 2);
    rewrite_done(&net);
}

/* 3x3 and nothing else between norms. */
static void wider_windows_stay_as_they_are(void) {
    struct net net;
    rewrite(&net, "resnet18", supports_no_stride);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_BACKWARD_NORM), 0);
    CU_ASSERT(net_count(&net, OP_NORM_CONV2D_GRAD_WEIGHT) > 0);
    rewrite_done(&net);
}

UNIT_SUITE("graph.fuse_backward", UNIT(a_backend_that_lacks_it_keeps_the_three_operators),
           UNIT(last_convolutions_of_bottlenecks_become_one),
           UNIT(first_convolutions_behind_a_join_become_one),
           UNIT(convolutions_behind_the_pool_become_one), UNIT(wider_windows_stay_as_they_are))
