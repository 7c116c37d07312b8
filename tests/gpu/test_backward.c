/* Our own backward pass of 1x1 convolutions before norms, on the device: against the reference on
 * the rows of the parity test, and against cuDNN's three operators at the sizes of a training step.
 */
#include "tests/gpu/gpu.h"
#include "tests/ops/harness.h"
#include "tests/ops/parity.h"
#include "tests/support/unit.h"
#include "trainer/graph/op.h"
#include "trainer/graph/rules/op_table.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

/* cuDNN rounds the weights' gradient to f16, and either's dx is rounded by itself. */
static const double MOST = 4e-3;

/* Opens the backend with the kernel on; NULL, and the test is skipped, where there is no GPU that
 * has it. */
static struct backend *open_own(void) {
    int major = 0, minor = 0;
    if (!gpu_here())
        return NULL;
    CU_ASSERT_EQUAL(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
                    cudaSuccess);
    CU_ASSERT_EQUAL(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0),
                    cudaSuccess);
    if (major != 9 || minor != 0) {
        unit_skip("this GPU is not of compute capability 9.0");
        return NULL;
    }
    return gpu_open(
        (struct cuda_options){.local_ranks = 1, .own_backward = CUDA_OWN_ON, .loss_scale = 1});
}

static void agree(enum dtype dtype) {
    struct backend *backend = open_own();
    if (backend == NULL)
        return;
    CU_ASSERT_EQUAL(setenv("OPS_ROWS", "backward ", 1), 0);
    parity_check(backend, dtype, PARITY_SOME);
    CU_ASSERT_EQUAL(unsetenv("OPS_ROWS"), 0);
    backend_close(backend);
}

static void it_agrees_with_the_reference_in_f16(void) {
    agree(DTYPE_F16);
}

static void it_agrees_with_the_reference_in_bf16(void) {
    agree(DTYPE_BF16);
}

static int append(struct graph *graph, enum op_kind kind, const int *inputs,
                  const struct op_attr *attr) {
    struct error err = {0};
    int all[OP_INPUTS_MAX], number;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        all[i] = inputs[i];
    number = graph_append(graph, kind, "one of three", all, attr, &err);
    CU_ASSERT_FATAL(number >= 0);
    return number;
}

/* SIDE: a tensor that makes norm(x) + it pass where y does. */
static int append_data(struct graph *graph, const struct op *own, int dz, int side) {
    int inputs[OP_INPUTS_MAX];
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    inputs[GRAD_DATA_NORM_DY] = dz;
    inputs[GRAD_DATA_NORM_W] = own->inputs[CONV_BACKWARD_W];
    if (own->kind == OP_CONV2D_BACKWARD)
        return append(graph, OP_CONV2D_GRAD_DATA, inputs, &own->attr);
    inputs[GRAD_DATA_NORM_X] = own->inputs[CONV_BACKWARD_X];
    for (int i = 0; i < 4; i++)
        inputs[GRAD_DATA_NORM_GAMMA + i] = own->inputs[CONV_BACKWARD_GAMMA + i];
    if (own->kind == OP_CONV2D_BACKWARD_NORM)
        return append(graph, OP_CONV2D_GRAD_DATA_NORM, inputs, &own->attr);
    inputs[GRAD_DATA_NORM_BETA] = own->inputs[CONV_BACKWARD_MEAN];
    inputs[GRAD_DATA_NORM_SHORTCUT] = own->inputs[CONV_BACKWARD_SHORTCUT];
    inputs[GRAD_DATA_NORM_SIDE] = side;
    return append(graph, OP_CONV2D_GRAD_DATA_ADD_JOIN, inputs, &own->attr);
}

static int append_weight(struct graph *graph, const struct op *own, int dz) {
    int inputs[OP_INPUTS_MAX];
    struct op_attr attr = own->attr;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    inputs[0] = dz;
    attr.target = graph->tensors[own->outputs[CONV_BACKWARD_DW]].shape;
    if (own->kind != OP_CONV2D_BACKWARD_NORM) {
        inputs[1] = own->inputs[CONV_BACKWARD_Y];
        return append(graph, OP_CONV2D_GRAD_WEIGHT, inputs, &attr);
    }
    for (int i = 0; i < 3; i++)
        inputs[1 + i] = own->inputs[CONV_BACKWARD_X + i];
    return append(graph, OP_NORM_CONV2D_GRAD_WEIGHT, inputs, &attr);
}

/* The three operators that OWN stands for, appended to its graph. */
static void append_three(struct graph *graph, const struct op *own, int side, int three[3]) {
    int inputs[OP_INPUTS_MAX];
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = i < 3 ? own->inputs[CONV_BACKWARD_G + i] : TENSOR_NONE;
    three[0] = append(graph, OP_NORM_GRAD_APPLY, inputs, &own->attr);
    int dz = graph->ops[three[0]].outputs[0];
    three[1] = append_data(graph, own, dz, side);
    three[2] = append_weight(graph, own, dz);
}

/* For a join: the side that lies far enough from 0, above where y is and else below, that norm(x)
 * changes no sign. TENSOR_NONE for the other forms. */
static int add_side(struct op_graph *g, const struct op *own) {
    const int y = own->inputs[CONV_BACKWARD_Y];
    if (own->kind != OP_CONV2D_BACKWARD_JOIN)
        return TENSOR_NONE;
    int side = op_graph_input(g, g->graph.dtype, g->row->x, FILL_GIVEN);
    void *values = op_graph_values(g, side);
    for (int64_t i = 0; i < shape_count(&g->row->x); i++)
        value_set(values, g->graph.dtype, i,
                  value_get(g->value[y], g->graph.dtype, i) > 0 ? 99 : -99);
    return side;
}

/* Runs operator NUMBER with the values of the tensors, which get its results. */
static void run(struct op_graph *g, struct backend *backend, int number) {
    struct error err = {0};
    void *result[CASE_TENSORS_MAX] = {0};
    const struct op *op = &g->graph.ops[number];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE)
            result[op->outputs[i]] = g->value[op->outputs[i]];
    if (op_graph_run(g, backend, number, false, result, &err) != 0) {
        printf("%s\n", err.text);
        CU_FAIL("an operator did not run");
    }
}

static void compare(const struct op_graph *g, int own, int other, const char *what) {
    double error = parity_error(&g->graph.tensors[own], g->value[own], g->value[other]);
    printf("%s: %s differs from cuDNN's by %.3g\n", g->row->name, what, error);
    CU_ASSERT(error <= MOST);
}

static void agree_with_cudnn(struct backend *backend, const struct op_case *row) {
    static const char *const names[] = {"dx", "dgamma", "dbeta", "coefficients"};
    struct op_graph g;
    int three[3];
    op_graph_init(&g, row, DTYPE_F16);
    const struct op own = g.graph.ops[0];
    append_three(&g.graph, &own, add_side(&g, &own), three);
    CU_ASSERT_FATAL(g.graph.tensor_count <= CASE_TENSORS_MAX);
    for (int i = 0; i < g.graph.tensor_count; i++)
        if (g.value[i] == NULL)
            g.value[i] = calloc(1, tensor_bytes(&g.graph.tensors[i]));
    CU_ASSERT_FATAL(backend->table->supports(backend, &g.graph, &own));
    run(&g, backend, 0);
    for (int i = 0; i < 3; i++)
        run(&g, backend, three[i]);
    const struct op *data = &g.graph.ops[three[1]];
    for (int i = 0; i < (own.kind == OP_CONV2D_BACKWARD ? 1 : 4); i++)
        compare(&g, own.outputs[CONV_BACKWARD_DX + i], data->outputs[GRAD_DATA_NORM_G + i],
                names[i]);
    compare(&g, own.outputs[CONV_BACKWARD_DW], g.graph.ops[three[2]].outputs[0], "dw");
    op_graph_done(&g);
}

#define LAYER(name_, kind_, side, in, out)                                                         \
    {                                                                                              \
        .name = (name_), .kind = (kind_), .x = {.rank = 4, .dim = {16, (side), (side), (in)}},     \
        .outputs = (out), .attr = {                                                                \
            .window = {.kernel = 1, .stride = 1}                                                   \
        }                                                                                          \
    }

static void it_agrees_with_cudnn_at_a_trainings_sizes(void) {
    static const struct op_case rows[] = {
        LAYER("stage 1, last, 64 to 256", OP_CONV2D_BACKWARD_NORM, 56, 64, 256),
        LAYER("stage 2, last, 128 to 512", OP_CONV2D_BACKWARD_NORM, 28, 128, 512),
        LAYER("stage 1, shortcut, 64 to 256", OP_CONV2D_BACKWARD, 56, 64, 256),
        LAYER("stage 1, the first, 64 to 64", OP_CONV2D_BACKWARD, 56, 64, 64),
        LAYER("stage 1, first, 256 to 64", OP_CONV2D_BACKWARD_JOIN, 56, 256, 64),
        LAYER("stage 2, the first, 256 to 128", OP_CONV2D_BACKWARD_JOIN, 56, 256, 128),
        LAYER("stage 2, first, 512 to 128", OP_CONV2D_BACKWARD_JOIN, 28, 512, 128)};
    struct backend *backend = open_own();
    if (backend == NULL)
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        agree_with_cudnn(backend, &rows[i]);
    backend_close(backend);
}

UNIT_SUITE("gpu.backward", UNIT(it_agrees_with_the_reference_in_f16),
           UNIT(it_agrees_with_the_reference_in_bf16),
           UNIT(it_agrees_with_cudnn_at_a_trainings_sizes))
