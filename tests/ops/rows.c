#include "tests/ops/rows.h"

#include "tests/golden/stage.h"
#include "tests/ops/parity.h"
#include "trainer/graph/op_roi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32, SIDE = 6, IN = 16, OUT = 24, CLASSES = 5 };

/* How many count, and how many are computed then: 1/16, 1/8, 3/16, 1/4, 3/8, 1/2, 3/4 or all. */
static const struct {
    int count, computed;
} fills[] = {{0, 2},  {1, 2},   {2, 2},   {3, 4},   {5, 6},   {7, 8},
             {9, 12}, {12, 12}, {13, 16}, {17, 24}, {25, 32}, {32, 32}};
enum { FILLS = sizeof(fills) / sizeof(fills[0]) };

static int *rows_given(struct op_graph *g) {
    int tensor = op_graph_input(g, DTYPE_I32, shape_1(1), FILL_GIVEN);
    int32_t *value = op_graph_values(g, tensor);
    for (int i = 0; i < g->graph.op_count; i++)
        g->graph.ops[i].rows = tensor;
    return value;
}

static void make_conv(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const int kernel = g->row->attr.window.kernel;
    inputs[0] = op_graph_input(g, g->graph.dtype, shape_4(ROWS, SIDE, SIDE, IN), FILL_NORMAL);
    inputs[1] = op_graph_input(g, DTYPE_F32, shape_4(OUT, kernel, kernel, IN), FILL_WEIGHT);
    if (g->row->kind == OP_CONV2D_AFFINE)
        inputs[AFFINE_BIAS] = op_graph_input(g, DTYPE_F32, shape_1(OUT), FILL_NORMAL);
}

/* A data gradient combined with the operators before it. */
static void make_masked(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum dtype dtype = g->graph.dtype;
    inputs[AFFINE_GRAD_DY] = op_graph_input(g, dtype, shape_4(ROWS, SIDE, SIDE, OUT), FILL_NORMAL);
    inputs[AFFINE_GRAD_W] = op_graph_input(g, DTYPE_F32, shape_4(OUT, 3, 3, IN), FILL_WEIGHT);
    inputs[AFFINE_GRAD_Y] = op_graph_input(g, dtype, shape_4(ROWS, SIDE, SIDE, IN), FILL_NORMAL);
}

/* The transposed one: what a gradient's data gradient is. */
static void make_transposed(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    inputs[0] = op_graph_input(g, g->graph.dtype, shape_4(ROWS, SIDE, SIDE, IN), FILL_NORMAL);
    inputs[1] = op_graph_input(g, DTYPE_F32, shape_4(IN, 2, 2, OUT), FILL_WEIGHT);
}

static void make_bias(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    inputs[0] = op_graph_input(g, g->graph.dtype, shape_4(ROWS, SIDE, SIDE, IN), FILL_NORMAL);
    inputs[1] = op_graph_input(g, DTYPE_F32, shape_1(IN), FILL_NORMAL);
}

static void make_classes(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    inputs[CLASS_CONV_X] =
        op_graph_input(g, g->graph.dtype, shape_4(ROWS, SIDE, SIDE, IN), FILL_NORMAL);
    inputs[CLASS_CONV_W] = op_graph_input(g, DTYPE_F32, shape_2(CLASSES, IN), FILL_WEIGHT);
    inputs[CLASS_CONV_B] = op_graph_input(g, DTYPE_F32, shape_1(CLASSES), FILL_NORMAL);
    inputs[CLASS_CONV_LABEL] = op_graph_input(g, DTYPE_I32, shape_1(ROWS), FILL_GIVEN);
    (void)op_graph_values(g, inputs[CLASS_CONV_LABEL]);
}

/* Labels of the COUNT rows; none after them. */
static void label_rows(struct op_graph *g, int count) {
    if (g->row->kind != OP_CLASS_CONV)
        return;
    int32_t *label = g->value[g->graph.ops[0].inputs[CLASS_CONV_LABEL]];
    for (int i = 0; i < ROWS; i++)
        label[i] = i < count ? 1 + i % (CLASSES - 1) : 0;
}

static bool has_rows(const struct tensor *tensor) {
    return tensor->dtype != DTYPE_I32 && tensor->shape.rank > 1 && tensor->shape.dim[0] == ROWS;
}

/* Rows from FIRST on of what operator OP reads become VALUE. */
static void set_behind(struct op_graph *g, const struct op *op, int first, double value) {
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        if (op->inputs[i] == TENSOR_NONE || !has_rows(&g->graph.tensors[op->inputs[i]]))
            continue;
        const struct tensor *tensor = &g->graph.tensors[op->inputs[i]];
        int64_t row = tensor_count(tensor) / ROWS;
        for (int64_t k = first * row; k < ROWS * row; k++)
            value_set(g->value[op->inputs[i]], tensor->dtype, k, value);
    }
}

static void compare(const struct tensor *tensor, const char *few, const char *all, int count,
                    int computed) {
    if (!has_rows(tensor)) {
        CU_ASSERT(parity_error(tensor, few, all) <= 2e-6);
        return;
    }
    int64_t row = tensor_count(tensor) / ROWS;
    CU_ASSERT(memcmp(few, all, (size_t)(count * row) * dtype_size(tensor->dtype)) == 0);
    for (int64_t i = computed * row; i < ROWS * row; i++)
        if (!isnan(value_get(few, tensor->dtype, i))) {
            CU_FAIL("a row behind the bucket was written");
            return;
        }
}

static void check_op(struct op_graph *g, struct backend *backend, int number, int32_t *rows,
                     const int *number_of_rows) {
    void *few[CASE_TENSORS_MAX] = {0};
    struct op *op = &g->graph.ops[number];
    const int count = number_of_rows[0], computed = number_of_rows[1], tensor = op->rows;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE)
            few[op->outputs[i]] = calloc(1, tensor_bytes(&g->graph.tensors[op->outputs[i]]));
    op->rows = TENSOR_NONE;
    set_behind(g, op, count, 0);
    CU_ASSERT_EQUAL_FATAL(op_graph_run(g, backend, number, false, g->value, NULL), 0);
    op->rows = tensor;
    *rows = count;
    set_behind(g, op, computed, NAN);
    CU_ASSERT_EQUAL_FATAL(op_graph_run(g, backend, number, false, few, NULL), 0);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE)
            compare(&g->graph.tensors[op->outputs[i]], few[op->outputs[i]],
                    g->value[op->outputs[i]], count, computed);
    for (int i = 0; i < CASE_TENSORS_MAX; i++)
        free(few[i]);
}

static void check(struct backend *backend, enum op_kind kind, const struct op_attr *attr,
                  void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX])) {
    for (int i = 0; i < FILLS; i++) {
        const int number_of_rows[] = {fills[i].count, fills[i].computed};
        struct stage stage;
        stage_open(&stage, kind, attr, 0, make);
        int32_t *rows = rows_given(&stage.g);
        label_rows(&stage.g, fills[i].count);
        for (int op = 0; op < stage.g.graph.op_count; op++)
            check_op(&stage.g, backend, op, rows, number_of_rows);
        op_graph_done(&stage.g);
    }
}

void rows_of_convolutions(struct backend *backend) {
    const struct op_attr attr = {.window = {.kernel = 3, .stride = 1, .pad = 1}};
    check(backend, OP_CONV2D, &attr, make_conv);
}

void rows_of_convolutions_with_a_bias(struct backend *backend) {
    const struct op_attr attr = {.window = {.kernel = 3, .stride = 1, .pad = 1}, .relu = true};
    check(backend, OP_CONV2D_AFFINE, &attr, make_conv);
}

void rows_of_transposed_convolutions(struct backend *backend) {
    const struct op_attr attr = {.window = {.kernel = 2, .stride = 2},
                                 .target = shape_4(ROWS, 2 * SIDE, 2 * SIDE, OUT)};
    check(backend, OP_CONV2D_GRAD_DATA, &attr, make_transposed);
}

void rows_of_biases(struct backend *backend) {
    const struct op_attr attr = {.relu = true};
    check(backend, OP_BIAS, &attr, make_bias);
}

void rows_of_class_convolutions(struct backend *backend) {
    const struct op_attr attr = {0};
    check(backend, OP_CLASS_CONV, &attr, make_classes);
}

void rows_of_masked_data_gradients(struct backend *backend) {
    const struct op_attr attr = {.window = {.kernel = 3, .stride = 1, .pad = 1},
                                 .side = true,
                                 .target = shape_4(ROWS, SIDE, SIDE, IN)};
    check(backend, OP_CONV2D_GRAD_DATA_AFFINE, &attr, make_masked);
}
