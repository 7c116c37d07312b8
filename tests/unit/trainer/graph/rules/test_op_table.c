/* What operators cost, worked out by hand. A multiply-add counts two. Operators are put together
 * without a graph's builder, as costs depend on shapes alone. */
#include "tests/support/unit.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/rules/op_table.h"

static struct graph graph;

/* Adds a tensor of this shape; what it holds does not matter. */
static int tensor(struct shape shape) {
    int number = graph_tensor(&graph, "t", DTYPE_F32, shape, TENSOR_ACTIVATION, NULL);
    CU_ASSERT_FATAL(number >= 0);
    return number;
}

/* Returns an operator without tensors. */
static struct op new_op(enum op_kind kind) {
    struct op op = {.kind = kind, .rows = TENSOR_NONE, .forward = -1};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        op.inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        op.outputs[i] = TENSOR_NONE;
    return op;
}

static double flops(const struct op *op) {
    return op_cost(&graph, op).flops;
}

/* 5 x 7 pixels of 3 channels from 10 x 14 of 8, by windows of 3 x 3 of which each channel of w has
 * 6: in every direction 2 x 3 x 35 x 9 x 6 times the pictures. Two channels of x are padding and
 * cost nothing. An operator that makes both gradients costs twice as much. */
static void a_convolution_costs_the_same_in_each_direction(void) {
    graph_init(&graph, DTYPE_F32, true);
    const struct shape w = shape_4(3, 3, 3, 6);
    const double all = 2.0 * 2 * 5 * 7 * 3 * 9 * 6;
    int x = tensor(shape_4(2, 10, 14, 8)), y = tensor(shape_4(2, 5, 7, 3)), weights = tensor(w);
    struct op forward = new_op(OP_CONV2D), data = new_op(OP_CONV2D_GRAD_DATA);
    struct op weight = new_op(OP_CONV2D_GRAD_WEIGHT), both = new_op(OP_CONV2D_BACKWARD);
    forward.inputs[0] = x;
    forward.inputs[1] = weights;
    forward.outputs[0] = y;
    data.inputs[0] = y;
    data.inputs[1] = weights;
    data.outputs[0] = x;
    weight.inputs[0] = y;
    weight.inputs[1] = x;
    weight.attr.target = w;
    both.inputs[CONV_BACKWARD_G] = y;
    both.inputs[CONV_BACKWARD_W] = weights;
    CU_ASSERT_EQUAL(flops(&forward), all);
    CU_ASSERT_EQUAL(flops(&data), all);
    CU_ASSERT_EQUAL(flops(&weight), all);
    CU_ASSERT_EQUAL(flops(&both), 2 * all);
    graph_done(&graph);
}

/* 4 rows of 6 inputs and 5 outputs, each product a multiply-add. */
static void a_linear_layer_costs_the_same_in_each_direction(void) {
    graph_init(&graph, DTYPE_F32, true);
    int x = tensor(shape_2(4, 6)), w = tensor(shape_2(5, 6)), y = tensor(shape_2(4, 5));
    struct op forward = new_op(OP_LINEAR), data = new_op(OP_LINEAR_GRAD_DATA);
    struct op weight = new_op(OP_LINEAR_GRAD_WEIGHT);
    forward.inputs[0] = x;
    forward.inputs[1] = w;
    forward.outputs[0] = y;
    data.inputs[0] = y;
    data.inputs[1] = w;
    data.outputs[0] = x;
    weight.inputs[0] = y;
    weight.inputs[1] = x;
    weight.outputs[0] = w;
    CU_ASSERT_EQUAL(flops(&forward), 2 * 4 * 5 * 6);
    CU_ASSERT_EQUAL(flops(&data), 2 * 4 * 5 * 6);
    CU_ASSERT_EQUAL(flops(&weight), 2 * 4 * 5 * 6);
    graph_done(&graph);
}

/* Four pixels a sample; four samples a bin where the bin's size says how many. */
static void regions_cost_their_samples(void) {
    graph_init(&graph, DTYPE_F32, true);
    int bins = tensor(shape_4(3, 7, 7, 2)), map = tensor(shape_4(1, 64, 64, 2));
    struct op align = new_op(OP_ROI_ALIGN), gradient = new_op(OP_ROI_ALIGN_GRAD);
    align.inputs[ROI_ALIGN_MAP] = gradient.outputs[ROI_ALIGN_GRAD_DMAP] = map;
    align.outputs[ROI_ALIGN_Y] = gradient.inputs[ROI_ALIGN_GRAD_DY] = bins;
    static const struct { int sampling, samples; } rows[] = {{3, 9}, {1, 1}, {0, 4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        align.attr.detect.sampling = gradient.attr.detect.sampling = rows[i].sampling;
        CU_ASSERT_EQUAL(flops(&align), 2.0 * 294 * 4 * rows[i].samples);
        CU_ASSERT_EQUAL(flops(&gradient), 2.0 * 294 * 4 * rows[i].samples);
    }
    graph_done(&graph);
}

/* Each pixel of x costs only one class's filter: 48 pixels of 10 channels. */
static void masks_cost_one_class(void) {
    graph_init(&graph, DTYPE_F32, true);
    int x = tensor(shape_4(3, 4, 4, 10)), y = tensor(shape_3(3, 4, 4)), w = tensor(shape_2(5, 10));
    struct op forward = new_op(OP_CLASS_CONV), data = new_op(OP_CLASS_CONV_GRAD_DATA);
    struct op weight = new_op(OP_CLASS_CONV_GRAD_WEIGHT);
    forward.inputs[CLASS_CONV_X] = x;
    forward.inputs[CLASS_CONV_W] = w;
    forward.outputs[CLASS_CONV_Y] = y;
    data.inputs[CLASS_CONV_GRAD_DATA_DY] = y;
    data.inputs[CLASS_CONV_GRAD_DATA_W] = w;
    data.outputs[0] = x;
    weight.inputs[CLASS_CONV_GRAD_WEIGHT_DY] = y;
    weight.inputs[CLASS_CONV_GRAD_WEIGHT_X] = x;
    weight.outputs[CLASS_CONV_GRAD_WEIGHT_DW] = w;
    CU_ASSERT_EQUAL(flops(&forward), 2 * 480);
    CU_ASSERT_EQUAL(flops(&data), 2 * 480);
    CU_ASSERT_EQUAL(flops(&weight), 2 * 480);
    graph_done(&graph);
}

/* 100 sampled anchors, each a pixel of the three convolutions; twice as much as forward, for data
 * and weights. */
static void a_proposal_networks_head_costs_its_samples(void) {
    graph_init(&graph, DTYPE_F32, true);
    struct op op = new_op(OP_RPN_HEAD_GRAD);
    op.inputs[RPN_HEAD_GRAD_INDEX] = tensor(shape_2(2, 50));
    op.inputs[RPN_HEAD_GRAD_W_CONV] = tensor(shape_4(8, 3, 3, 6));
    op.inputs[RPN_HEAD_GRAD_W_CLS] = tensor(shape_2(3, 8));
    op.inputs[RPN_HEAD_GRAD_W_BOX] = tensor(shape_2(12, 8));
    CU_ASSERT_EQUAL(flops(&op), 4.0 * 100 * (8 * 9 * 6 + 3 * 8 + 12 * 8));
    graph_done(&graph);
}

/* One for each element of the widest tensor that is read; every tensor is touched once, the count
 * of rows, too. */
static void other_operators_cost_their_widest_input(void) {
    graph_init(&graph, DTYPE_F32, true);
    struct op op = new_op(OP_BIAS);
    op.inputs[0] = tensor(shape_2(6, 7));
    op.inputs[1] = tensor(shape_1(7));
    op.outputs[0] = tensor(shape_2(6, 7));
    struct op_cost cost = op_cost(&graph, &op);
    CU_ASSERT_EQUAL(cost.flops, 42);
    CU_ASSERT_EQUAL(cost.bytes, 4 * (42 + 7 + 42));
    op.rows = tensor(shape_1(1));
    CU_ASSERT_EQUAL(op_cost(&graph, &op).bytes, cost.bytes + 4);
    op.inputs[0] = op.inputs[1];
    op.inputs[1] = op.outputs[0];
    CU_ASSERT_EQUAL(op_cost(&graph, &op).flops, 42);
    graph_done(&graph);
}

/* All kinds and slots are asked; bits say which slots are written. */
static void norms_update_their_running_statistics_alone(void) {
    int batch = 0, finalize = 0, others = 0;
    for (int slot = 0; slot < OP_INPUTS_MAX; slot++) {
        batch += op_updates(OP_BATCH_NORM, slot) << slot;
        finalize += op_updates(OP_NORM_FINALIZE, slot) << slot;
        for (int kind = 0; kind < OP_KINDS; kind++)
            others += kind != OP_BATCH_NORM && kind != OP_NORM_FINALIZE &&
                      op_updates((enum op_kind)kind, slot);
    }
    CU_ASSERT_EQUAL(batch,
                    1 << NORM_MEAN | 1 << NORM_VARIANCE | 1 << NORM_MEAN2 | 1 << NORM_VARIANCE2);
    CU_ASSERT_EQUAL(finalize, 1 << NORM_FINALIZE_MEAN | 1 << NORM_FINALIZE_VARIANCE);
    CU_ASSERT_EQUAL(others, 0);
}

/* A function, a gradient, one with two inputs, and an operator that is none. */
static void functions_of_elements_are_known_by_their_operator(void) {
    CU_ASSERT_EQUAL(op_pointwise(OP_RELU), POINTWISE_RELU);
    CU_ASSERT_EQUAL(op_pointwise(OP_SIGMOID_GRAD), POINTWISE_SIGMOID_GRAD);
    CU_ASSERT_EQUAL(op_pointwise(OP_ADD_RELU), POINTWISE_ADD_RELU);
    CU_ASSERT_EQUAL(op_pointwise(OP_BIAS), POINTWISE_KINDS);
}

UNIT_SUITE("graph.op_table", UNIT(a_convolution_costs_the_same_in_each_direction),
           UNIT(a_linear_layer_costs_the_same_in_each_direction), UNIT(regions_cost_their_samples),
           UNIT(masks_cost_one_class), UNIT(a_proposal_networks_head_costs_its_samples),
           UNIT(other_operators_cost_their_widest_input),
           UNIT(norms_update_their_running_statistics_alone),
           UNIT(functions_of_elements_are_known_by_their_operator))
