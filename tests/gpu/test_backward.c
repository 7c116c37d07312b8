/* The own backward pass of 1x1 convolutions between norms, on the device: against the reference on
 * the rows of the parity test, and against cuDNN's three operators at sizes of a training step. */
#include "gpu/gpu.h"
#include "graph/op.h"
#include "ops/harness.h"
#include "ops/parity.h"
#include "support/unit.h"

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
    CU_ASSERT_EQUAL(setenv("OPS_ROWS", "backward between norms", 1), 0);
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

/* The three operators that OWN stands for, appended to its graph. */
static void append_three(struct graph *graph, const struct op *own, int three[3]) {
    int inputs[OP_INPUTS_MAX];
    struct error err = {0};
    struct op_attr attr = own->attr;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = i < 3 ? own->inputs[CONV_BACKWARD_G + i] : TENSOR_NONE;
    three[0] = graph_append(graph, OP_NORM_GRAD_APPLY, "apply", inputs, &attr, &err);
    CU_ASSERT_FATAL(three[0] >= 0);
    int dz = graph->ops[three[0]].outputs[0];
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    inputs[GRAD_DATA_NORM_DY] = dz;
    inputs[GRAD_DATA_NORM_W] = own->inputs[CONV_BACKWARD_W];
    inputs[GRAD_DATA_NORM_X] = own->inputs[CONV_BACKWARD_X];
    for (int i = 0; i < 4; i++)
        inputs[GRAD_DATA_NORM_GAMMA + i] = own->inputs[CONV_BACKWARD_GAMMA + i];
    three[1] = graph_append(graph, OP_CONV2D_GRAD_DATA_NORM, "data", inputs, &attr, &err);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    inputs[0] = dz;
    for (int i = 0; i < 3; i++)
        inputs[1 + i] = own->inputs[CONV_BACKWARD_X + i];
    attr.target = graph->tensors[own->outputs[CONV_BACKWARD_DW]].shape;
    three[2] = graph_append(graph, OP_NORM_CONV2D_GRAD_WEIGHT, "weight", inputs, &attr, &err);
    CU_ASSERT_FATAL(three[1] >= 0 && three[2] >= 0);
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
    append_three(&g.graph, &own, three);
    CU_ASSERT_FATAL(g.graph.tensor_count <= CASE_TENSORS_MAX);
    for (int i = 0; i < g.graph.tensor_count; i++)
        if (g.value[i] == NULL)
            g.value[i] = calloc(1, tensor_bytes(&g.graph.tensors[i]));
    CU_ASSERT_FATAL(backend->table->supports(backend, &g.graph, &own));
    run(&g, backend, 0);
    for (int i = 0; i < 3; i++)
        run(&g, backend, three[i]);
    const struct op *data = &g.graph.ops[three[1]];
    for (int i = 0; i < 4; i++)
        compare(&g, own.outputs[CONV_BACKWARD_DX + i], data->outputs[GRAD_DATA_NORM_G + i],
                names[i]);
    compare(&g, own.outputs[CONV_BACKWARD_DW], g.graph.ops[three[2]].outputs[0], "dw");
    op_graph_done(&g);
}

#define LAYER(name_, side, in, out)                                                                \
    {                                                                                              \
        .name = (name_), .kind = OP_CONV2D_BACKWARD_NORM,                                          \
        .x = {.rank = 4, .dim = {16, (side), (side), (in)}}, .outputs = (out), .attr = {           \
            .window = {.kernel = 1, .stride = 1}                                                   \
        }                                                                                          \
    }

static void it_agrees_with_cudnn_at_a_trainings_sizes(void) {
    static const struct op_case rows[] = {LAYER("stage 1, 64 to 256", 56, 64, 256),
                                          LAYER("stage 2, 128 to 512", 28, 128, 512)};
    struct backend *backend = open_own();
    if (backend == NULL)
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        agree_with_cudnn(backend, &rows[i]);
    backend_close(backend);
}

UNIT_MAIN("gpu.backward", UNIT(it_agrees_with_the_reference_in_f16),
          UNIT(it_agrees_with_the_reference_in_bf16),
          UNIT(it_agrees_with_cudnn_at_a_trainings_sizes))
