/* Operators on some of their leading rows. */
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/row_prefix.h"

enum { ROWS = 32, CHANNELS = 8 };

static void the_shares_grow_to_all_rows(void) {
    static const int64_t shares[ROW_PARTS] = {2, 4, 6, 8, 12, 16, 24, 32};
    for (int i = 0; i < ROW_PARTS; i++) {
        CU_ASSERT_EQUAL(row_prefix_rows(ROWS, i), shares[i]);
        CU_ASSERT_EQUAL(row_prefix_rows(1, i), 1);
        CU_ASSERT(row_prefix_rows(33, i) * 32 >= 33 * shares[i]); /* rounded up */
    }
}

/* The data gradient of a convolution over ROWS rows of 5 x 5 pixels, of which a count counts. */
static void make(struct graph *graph, struct op *op, int64_t rows_of_y) {
    graph_init(graph, DTYPE_F32, true);
    *op = (struct op){.kind = OP_CONV2D_GRAD_DATA_AFFINE};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        op->inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        op->outputs[i] = TENSOR_NONE;
    const struct shape x = shape_4(ROWS, 5, 5, CHANNELS);
    op->inputs[AFFINE_GRAD_DY] = graph_input(graph, "dy", DTYPE_F32, x);
    op->inputs[AFFINE_GRAD_W] =
        graph_input(graph, "w", DTYPE_F32, shape_4(CHANNELS, 3, 3, CHANNELS));
    op->inputs[AFFINE_GRAD_Y] =
        graph_input(graph, "y", DTYPE_F32, shape_4(rows_of_y, 5, 5, CHANNELS));
    op->outputs[AFFINE_GRAD_G] = graph_input(graph, "g", DTYPE_F32, x);
    op->rows = graph_input(graph, "count", DTYPE_I32, shape_1(1));
    op->attr.target = x;
}

static void what_has_rows_has_fewer_of_them(void) {
    struct graph graph;
    struct op op;
    static struct row_prefix part;
    make(&graph, &op, ROWS);
    CU_ASSERT_EQUAL(row_prefix_capacity(&graph, &op), ROWS);
    row_prefix_make(&part, &graph, &op, 6);
    const struct tensor *tensors = part.graph.tensors;
    CU_ASSERT_EQUAL(tensors[part.op.inputs[AFFINE_GRAD_DY]].shape.dim[0], 6);
    CU_ASSERT_EQUAL(tensors[part.op.inputs[AFFINE_GRAD_DY]].shape.dim[1], 5);
    CU_ASSERT_EQUAL(tensors[part.op.inputs[AFFINE_GRAD_Y]].shape.dim[0], 6);
    CU_ASSERT_EQUAL(tensors[part.op.outputs[AFFINE_GRAD_G]].shape.dim[0], 6);
    CU_ASSERT_EQUAL(tensors[part.op.inputs[AFFINE_GRAD_W]].shape.dim[0], CHANNELS);
    CU_ASSERT_STRING_EQUAL(tensors[part.op.inputs[AFFINE_GRAD_DY]].name, "dy");
    CU_ASSERT_STRING_EQUAL(tensors[part.op.inputs[AFFINE_GRAD_Y]].name, "y");
    CU_ASSERT_STRING_EQUAL(tensors[part.op.outputs[AFFINE_GRAD_G]].name, "g");
    CU_ASSERT_EQUAL(part.op.attr.target.dim[0], 6);
    CU_ASSERT_EQUAL(part.op.rows, TENSOR_NONE);
    CU_ASSERT_EQUAL(part.op.inputs[AFFINE_GRAD_SHORTCUT], TENSOR_NONE);
    CU_ASSERT_EQUAL(graph.tensors[op.inputs[AFFINE_GRAD_DY]].shape.dim[0], ROWS);
    graph_done(&graph);
}

static void what_has_no_such_part_has_no_capacity(void) {
    struct graph graph;
    struct op op;
    make(&graph, &op, ROWS);
    struct op whole = op, other = op;
    whole.rows = TENSOR_NONE;
    other.kind = OP_MASK_LOSS;
    CU_ASSERT_EQUAL(row_prefix_capacity(&graph, &whole), 0);
    CU_ASSERT_EQUAL(row_prefix_capacity(&graph, &other), 0);
    graph_done(&graph);
    make(&graph, &op, ROWS / 2);
    CU_ASSERT_EQUAL(row_prefix_capacity(&graph, &op), 0);
    graph_done(&graph);
}

UNIT_SUITE("graph.row_prefix", UNIT(the_shares_grow_to_all_rows),
           UNIT(what_has_rows_has_fewer_of_them), UNIT(what_has_no_such_part_has_no_capacity))
