#include "graph/gradients.h"
#include "support/net.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

static void backward_needs_a_loss(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    CU_ASSERT_EQUAL(graph_add_gradients(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "no loss");
    graph_done(&graph);
}

static void the_picture_gets_no_gradient(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D), 21);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_WEIGHT), 21);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA), 20);
    net_done(&net);
}

static void every_parameter_has_one_gradient_of_its_shape(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet32", 1, 8, true), (struct compile_options){0});
    int parameters = 0, gradients = 0;
    for (int i = 0; i < net.graph.tensor_count; i++) {
        const struct tensor *tensor = &net.graph.tensors[i];
        parameters += tensor->role == TENSOR_PARAMETER;
        if (tensor->role != TENSOR_GRADIENT)
            continue;
        gradients++;
        CU_ASSERT(shape_equal(&tensor->shape, &net.graph.tensors[tensor->parameter].shape));
        CU_ASSERT(tensor->producer >= 0);
    }
    CU_ASSERT_EQUAL(parameters, 101);
    CU_ASSERT_EQUAL(gradients, 101);
    net_done(&net);
}

/* A parameter with two readers gets the sum of what both send. */
static void shared_weights_sum_their_gradients(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 3));
    int w = graph_parameter(&graph, "w", shape_4(3, 1, 1, 3), INIT_NORMAL_FAN_OUT, 0);
    struct op_attr attr = {.window = {.kernel = 1, .stride = 1}};
    for (int i = 0; i < 2; i++) {
        int op = graph_append(&graph, OP_CONV2D, "conv", (int[]){x, w}, &attr, &err);
        CU_ASSERT_FATAL(op >= 0);
        x = graph.ops[op].outputs[0];
    }
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(1));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(1));
    int logits = graph_linear(&graph, "fc", graph_global_avg_pool(&graph, x), 4);
    (void)graph_softmax_cross_entropy(&graph, logits, label, weight, 0);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
    int gradient = gradients_of(&graph, w);
    CU_ASSERT_EQUAL(graph.tensors[gradient].role, TENSOR_GRADIENT);
    CU_ASSERT_EQUAL(graph.ops[graph.tensors[gradient].producer].kind, OP_ADD);
    graph_done(&graph);
}

static double loss_with(struct net *net, double *value, double replacement) {
    double metrics[LOSS_METRICS];
    struct error err = {0};
    double before = *value;
    *value = replacement;
    net_run(net, NULL);
    *value = before;
    CU_ASSERT_EQUAL(program_read(&net->program, "metrics", metrics, sizeof(metrics), &err), 0);
    return metrics[LOSS_SUM] / net->config.batch;
}

/* The chain of all rules: some weights of every kind of layer of a whole network. */
static void gradients_of_a_network_are_those_of_finite_differences(void) {
    static const char *const names[] = {"conv1.weight",
                                        "bn1.weight",
                                        "layer1.0.conv2.weight",
                                        "layer2.0.downsample.0.weight",
                                        "layer2.0.downsample.1.bias",
                                        "layer3.0.bn2.weight",
                                        "fc.weight",
                                        "fc.bias"};
    struct net net;
    struct resnet_config config = net_config("resnet20", 3, 8, true);
    config.dtype = DTYPE_F64;
    config.label_smoothing = 0.1;
    net_init(&net, NULL, config, (struct compile_options){.fusion = FUSION_ALL});
    net_start(&net);
    net_fill(&net, 8);
    net_run(&net, NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct store_slot *slot = store_find(&net.store, names[i]);
        double *value = store_at(&net.store, slot, STORE_PARAMETERS);
        double *gradient = store_at(&net.store, slot, STORE_GRADIENTS);
        size_t at = slot->count / 2;
        double computed = gradient[at], step = 1e-6;
        double expected = (loss_with(&net, &value[at], value[at] + step) -
                           loss_with(&net, &value[at], value[at] - step)) /
                          (2 * step);
        CU_ASSERT_DOUBLE_EQUAL(computed, expected, 1e-5 * fmax(fabs(expected), 1e-3));
    }
    net_done(&net);
}

UNIT_MAIN("graph.gradients", UNIT(backward_needs_a_loss), UNIT(the_picture_gets_no_gradient),
          UNIT(every_parameter_has_one_gradient_of_its_shape),
          UNIT(shared_weights_sum_their_gradients),
          UNIT(gradients_of_a_network_are_those_of_finite_differences))
