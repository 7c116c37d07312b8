#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/gradient/gradients.h"
#include "trainer/graph/rules/op_table.h"

#include <math.h>
#include <string.h>

/* The backward pass as operators: which gradients are made, how those of several readers and losses
 * are summed, and what has none. At the end the gradients of a whole network are compared with
 * finite differences in double; those of single operators are in tests/ops/test_gradients.c. */

static void backward_needs_a_loss(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    CU_ASSERT_EQUAL(graph_add_gradients(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "no loss");
    graph_done(&graph);
}

/* One data gradient less than convolutions: the first one's input is the picture. */
static void the_picture_gets_no_gradient(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D), 21);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_WEIGHT), 21);
    CU_ASSERT_EQUAL(net_count(&net, OP_CONV2D_GRAD_DATA), 20);
    net_done(&net);
}

/* ResNet-32 has 101 parameters: weights of convolutions and of the last layer, gamma and beta of
 * norms, a bias. */
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

/* A parameter with two readers gets the sum of what both send: the sum, and neither summand, is the
 * parameter's gradient. */
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

/* Two heads on one body, each with its loss. The body's output has the sum of both, and each head
 * its own. */
static void parameters_get_the_gradient_of_all_losses(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 3));
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(2));
    int body =
        graph_global_avg_pool(&graph, graph_conv2d(&graph, "body", x, 3, 4,
                                                   (struct op_window){.kernel = 1, .stride = 1}));
    for (int i = 0; i < 2; i++) {
        int logits = graph_linear(&graph, i == 0 ? "a" : "b", body, 3);
        (void)graph_softmax_cross_entropy(&graph, logits, label, weight, 0);
    }
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
    static const char *const names[] = {"body.weight", "a.weight", "a.bias", "b.weight", "b.bias"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int gradient = gradients_of(&graph, graph_find(&graph, names[i]));
        CU_ASSERT_NOT_EQUAL_FATAL(gradient, TENSOR_NONE);
        CU_ASSERT_EQUAL(graph.tensors[gradient].role, TENSOR_GRADIENT);
    }
    int sum = gradients_of(&graph, body);
    CU_ASSERT_EQUAL(graph.ops[graph.tensors[sum].producer].kind, OP_ADD);
    graph_done(&graph);
}

/* Appends a norm of X with GAMMA, which may be any tensor, and parameters of its own for the rest;
 * returns the operator's number. */
static int append_norm(struct graph *graph, const char *name, int x, int gamma) {
    struct error err = {0};
    int slots[NORM_INPUTS] = {x, gamma};
    for (int i = NORM_BETA; i < NORM_INPUTS; i++)
        slots[i] = TENSOR_NONE;
    char text[TENSOR_NAME_SIZE] = "a.0";
    text[0] = name[0];
    for (int i = NORM_BETA; i <= NORM_VARIANCE; i++, text[2]++)
        slots[i] = graph_parameter(graph, text, shape_1(4), INIT_ONE, 0);
    struct op_attr attr = {.epsilon = 1e-5, .momentum = 0.1};
    int op = graph_append(graph, OP_BATCH_NORM, name, slots, &attr, &err);
    CU_ASSERT_FATAL(op >= 0);
    return op;
}

/* The mean that a norm saves scales another one: no rule knows what to do with its gradient. The
 * first norm's y has none, so the rule must be called for an output other than the first. */
static void a_gradient_of_any_output_is_handed_to_the_rule(void) {
    struct graph graph;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 4));
    int gamma = graph_parameter(&graph, "gamma", shape_1(4), INIT_ONE, 0);
    int first = append_norm(&graph, "a", x, gamma);
    int second = append_norm(&graph, "b", x, graph.ops[first].outputs[NORM_SAVED_MEAN]);
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(2));
    int pooled = graph_global_avg_pool(&graph, graph.ops[second].outputs[NORM_Y]);
    (void)graph_softmax_cross_entropy(&graph, graph_linear(&graph, "fc", pooled, 3), label, weight,
                                      0);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL(graph_add_gradients(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "gradient of batch_norm a");
    graph_done(&graph);
}

/* A convolution before an operator that has no gradient rule, and another reader of the same
 * convolution. Through the first nothing flows; through the second the weights get their
 * gradient. */
static void an_operator_without_a_rule_stops_the_gradient(void) {
    for (int through = 0; through < 2; through++) {
        struct graph graph;
        struct error err = {0};
        graph_init(&graph, DTYPE_F32, true);
        int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 4));
        int label = graph_input(&graph, "label", DTYPE_I32, shape_1(2));
        int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(2));
        int y = graph_conv2d(&graph, "conv", x, 4, 4, (struct op_window){.kernel = 1, .stride = 1});
        int op = graph_append(&graph, OP_RELU_GRAD, "choice", (int[]){y, y}, NULL, &err);
        CU_ASSERT_FATAL(op >= 0);
        int chosen = graph.ops[op].outputs[0];
        int sum = through == 1 ? graph_add(&graph, chosen, y) : chosen;
        int logits = graph_linear(&graph, "fc", graph_global_avg_pool(&graph, sum), 3);
        (void)graph_softmax_cross_entropy(&graph, logits, label, weight, 0);
        CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
        CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
        CU_ASSERT_EQUAL(gradients_of(&graph, chosen), TENSOR_NONE);
        CU_ASSERT_NOT_EQUAL(gradients_of(&graph, graph_find(&graph, "fc.weight")), TENSOR_NONE);
        int conv = gradients_of(&graph, graph_find(&graph, "conv.weight"));
        CU_ASSERT_EQUAL(conv != TENSOR_NONE, through == 1);
        graph_done(&graph);
    }
}

/* Two convolutions of one input in a part with counted rows, and a layer after that part. Two
 * gradients of each count rows; the sum of both data gradients is read by the body, where all rows
 * count. */
static void gradients_have_the_rows_of_their_operators_and_sums_have_none(void) {
    struct graph graph;
    struct error err = {0};
    struct op_window window = {.kernel = 1, .stride = 1};
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(2, 4, 4, 4));
    int rows = graph_input(&graph, "rows", DTYPE_I32, shape_1(1));
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(2));
    int body = graph_conv2d(&graph, "body", x, 4, 4, window);
    graph_rows(&graph, rows);
    int sum = graph_add(&graph, graph_conv2d(&graph, "a", body, 4, 4, window),
                        graph_conv2d(&graph, "b", body, 4, 4, window));
    graph_rows(&graph, TENSOR_NONE);
    int logits = graph_linear(&graph, "fc", graph_global_avg_pool(&graph, sum), 3);
    (void)graph_softmax_cross_entropy(&graph, logits, label, weight, 0);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    int forward = graph.op_count, counted = 0, sums = 0;
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
    for (int i = forward; i < graph.op_count; i++) {
        const struct op *op = &graph.ops[i];
        bool within =
            op->kind != OP_ADD && (op->name[0] == 'a' || op->name[0] == 'b') && op->name[1] == '\0';
        CU_ASSERT_EQUAL(op->rows, within ? rows : TENSOR_NONE);
        counted += within;
        sums += op->kind == OP_ADD;
    }
    CU_ASSERT(counted == 4 && sums == 1);
    graph_done(&graph);
}

/* Returns the mean loss of a step with *VALUE replaced; it is restored afterwards. */
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

/* The chain of all rules: some weights of every kind of layer of a whole network. The middle
 * element of each is moved by 1e-6 either way. Label smoothing is on, so that its gradient is
 * included. */
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

UNIT_SUITE("graph.gradients", UNIT(backward_needs_a_loss), UNIT(the_picture_gets_no_gradient),
           UNIT(every_parameter_has_one_gradient_of_its_shape),
           UNIT(shared_weights_sum_their_gradients),
           UNIT(parameters_get_the_gradient_of_all_losses),
           UNIT(a_gradient_of_any_output_is_handed_to_the_rule),
           UNIT(an_operator_without_a_rule_stops_the_gradient),
           UNIT(gradients_have_the_rows_of_their_operators_and_sums_have_none),
           UNIT(gradients_of_a_network_are_those_of_finite_differences))
