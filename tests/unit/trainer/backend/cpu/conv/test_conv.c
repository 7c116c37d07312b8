/* Convolutions by oneDNN, and shapes that it refuses, which the graph's rules never let through:
 * the result is an error, and nothing is leaked. */
#include "tests/ops/parity.h"
#include "tests/support/conv_layer.h"
#include "trainer/backend/cpu/cpu.h"

static void expect_refusal(struct backend *backend, const struct graph *graph, const struct op *op,
                           const char *what) {
    void *inputs[OP_INPUTS_MAX] = {NULL}, *outputs[OP_OUTPUTS_MAX] = {NULL};
    struct op_addresses addresses = {.inputs = inputs, .outputs = outputs};
    struct backend_needs needs = {0};
    struct backend_bound bound = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(backend->table->query(backend, graph, op, &needs, &err), -1);
    ASSERT_CONTAINS(err.text, what);
    ASSERT_CONTAINS(err.text, "oneDNN error: invalid arguments");
    err = (struct error){0};
    CU_ASSERT_EQUAL(backend->table->bind(backend, graph, op, &addresses, &bound, &err), -1);
    ASSERT_CONTAINS(err.text, what);
    CU_ASSERT_PTR_NULL(bound.step.context);
}

/* Each tensor of OP with a dimension that cannot be, and with one that does not fit the others. */
static void check_op(struct backend *backend, struct graph *graph, const struct op *op) {
    const int tensors[] = {op->inputs[0], op->inputs[1], op->outputs[0]};
    for (int i = 0; i < 3; i++) {
        struct shape *shape = &graph->tensors[tensors[i]].shape;
        const struct shape own = *shape;
        for (int axis = 0; axis < 4; axis++) {
            shape->dim[axis] = -7;
            expect_refusal(backend, graph, op, "oneDNN error");
            *shape = own;
        }
        shape->dim[0]++; /* pictures, or the weights' outputs */
        expect_refusal(backend, graph, op, "convolution: ");
        *shape = own;
    }
}

static struct backend *open_cpu(void) {
    struct backend *backend = NULL;
    struct cpu_options options = {.threads = 2, .convs = CPU_CONVS_ONEDNN};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    return backend;
}

static void convolutions_agree_with_the_reference(void) {
    struct backend *backend = open_cpu();
    static const char few[] = "conv odd channels|conv of a padded image|conv 3x3 64|conv bias add|"
                              "transposed conv tiny|conv frozen join tiny";
    parity_check_rows(backend, DTYPE_F32, PARITY_ALL, few);
    parity_check_rows(backend, DTYPE_BF16, PARITY_ALL, few);
    ((struct cpu *)backend)->has_bf16 = false;
    parity_check_rows(backend, DTYPE_BF16, PARITY_ALL, few);
    backend_close(backend);
}

static void shapes_that_do_not_fit_are_errors(void) {
    static const struct conv_layer layer = {2, 5, 6, 3, 4, 3, 1, 1, 0};
    struct backend *backend = open_cpu();
    struct conv_layer_ops ops;
    conv_layer_open(&ops, &layer, DTYPE_F32);
    for (int kind = 0; kind < LAYER_KINDS; kind++)
        check_op(backend, &ops.graph, ops.of[kind]);
    graph_done(&ops.graph);
    backend_close(backend);
}

UNIT_SUITE("cpu.conv", UNIT(convolutions_agree_with_the_reference),
           UNIT(shapes_that_do_not_fit_are_errors))
