/* Linear layers with shapes that oneDNN refuses; test_dnn.c and tests/ops test what it computes. */
#include "tests/ops/parity.h"
#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/graph/rules/op_table.h"

static int tensor(struct graph *graph, struct shape shape) {
    return graph_tensor(graph, "t", DTYPE_F32, shape, TENSOR_INPUT, NULL);
}

static void add(struct graph *graph, enum op_kind kind, int first, int second, int third,
                struct shape target) {
    const struct op_attr attr = {.target = target};
    struct error err = {0};
    int inputs[OP_INPUTS_MAX];
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    inputs[0] = first;
    inputs[1] = second;
    inputs[2] = third;
    CU_ASSERT_FATAL(graph_append(graph, kind, "layer", inputs, &attr, &err) >= 0);
}

/* Both query and bind have to notice, and free all that they have made. */
static void expect_refusal(struct backend *backend, const struct graph *graph,
                           const struct op *op) {
    void *inputs[OP_INPUTS_MAX] = {NULL}, *outputs[OP_OUTPUTS_MAX] = {NULL};
    struct op_addresses addresses = {.inputs = inputs, .outputs = outputs};
    struct backend_needs needs = {0};
    struct backend_bound bound = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(backend->table->query(backend, graph, op, &needs, &err), -1);
    ASSERT_CONTAINS(err.text, "oneDNN error: invalid arguments");
    CU_ASSERT_EQUAL(needs.scratch + needs.packed, 0);
    err = (struct error){0};
    CU_ASSERT_EQUAL(backend->table->bind(backend, graph, op, &addresses, &bound, &err), -1);
    ASSERT_CONTAINS(err.text, "oneDNN error: invalid arguments");
    CU_ASSERT_PTR_NULL(bound.step.context);
}

/* One case has so many rows that its bias gradient is not a single sum. */
static void layers_agree_with_the_reference(void) {
    struct backend *backend = NULL;
    static const char few[] =
        "linear tiny|linear odd|linear hidden tiny|linear relu tiny|linear of "
        "pixels tiny|of a picture tiny|linear of many rows";
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = 3}, NULL), 0);
    parity_check_rows(backend, DTYPE_F32, PARITY_ALL, few);
    parity_check_rows(backend, DTYPE_BF16, PARITY_ALL, few);
    ((struct cpu *)backend)->has_bf16 = false;
    parity_check_rows(backend, DTYPE_BF16, PARITY_ALL, few);
    backend_close(backend);
}

/* A negative side is set in the finished graph, as the rules for building one would refuse it. */
static void shapes_that_do_not_fit_are_errors(void) {
    struct backend *backend = NULL;
    struct graph graph;
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = 2}, NULL), 0);
    graph_init(&graph, DTYPE_F32, true);
    int x = tensor(&graph, shape_2(5, 7)), w = tensor(&graph, shape_2(3, 7));
    int b = tensor(&graph, shape_1(3)), dy = tensor(&graph, shape_2(5, 3));
    add(&graph, OP_LINEAR, x, w, b, shape_1(1));
    add(&graph, OP_LINEAR_GRAD_DATA, dy, w, TENSOR_NONE, shape_2(5, 7));
    add(&graph, OP_LINEAR_GRAD_WEIGHT, dy, x, TENSOR_NONE, shape_2(3, 7));
    for (int i = 0; i < graph.op_count; i++) {
        const struct op *op = &graph.ops[i];
        struct tensor *first = &graph.tensors[op->inputs[0]];
        struct tensor *rows = i == 0 ? &graph.tensors[op->outputs[0]] : first;
        struct tensor *weights = &graph.tensors[op->inputs[1]];
        const struct shape own = rows->shape, own_weights = weights->shape;
        rows->shape.dim[0] = -5;
        expect_refusal(backend, &graph, op);
        rows->shape = own;
        weights->shape.dim[1] = -7;
        expect_refusal(backend, &graph, op);
        weights->shape = own_weights;
    }
    graph_done(&graph);
    backend_close(backend);
}

UNIT_SUITE("cpu.linear", UNIT(layers_agree_with_the_reference),
           UNIT(shapes_that_do_not_fit_are_errors))
