/* The backend cpu against the reference: every operator in every type. */
#include "tests/support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "tests/ops/harness.h"
#include "tests/ops/parity.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/backend/ref/ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct backend *new_cpu(int threads) {
    struct backend *cpu = NULL;
    struct error err = {0};
    struct cpu_options options = {.threads = threads};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, &err), 0);
    return cpu;
}

static void compare_cpu(enum dtype dtype, int threads) {
    struct backend *cpu = new_cpu(threads);
    /* Held to less than the machine has, to run what others would. */
    const char *most = getenv("ONEDNN_MAX_CPU_ISA");
    if (most != NULL && strcmp(most, "AVX2") == 0)
        ASSERT_CONTAINS(cpu->table->describe(cpu), "products in f32");
    parity_check(cpu, dtype, PARITY_ALL);
    backend_close(cpu);
}

static void fill(struct op_graph *g, int tensor, double value) {
    const struct tensor *t = &g->graph.tensors[tensor];
    for (int64_t i = 0; i < tensor_count(t); i++)
        value_set(g->value[tensor], t->dtype, i, value);
}

/* Sums of ones times weights that are halfway between 1 and the next number of bf16. */
static void check_rounding(struct backend *backend, const struct op_case *row) {
    struct op_graph g;
    struct error err = {0};
    op_graph_init(&g, row, DTYPE_BF16);
    const struct op *op = &g.graph.ops[0];
    fill(&g, op->inputs[0], 1);
    fill(&g, op->inputs[1], 1 + 0x1p-8);
    if (op->inputs[2] != TENSOR_NONE)
        fill(&g, op->inputs[2], 0);
    const struct tensor *y = &g.graph.tensors[op->outputs[0]];
    double most = 0;
    CU_ASSERT_EQUAL(op_graph_run(&g, backend, 0, false, g.value, &err), 0);
    for (int64_t i = 0; i < tensor_count(y); i++)
        most = fmax(most, value_get(g.value[op->outputs[0]], y->dtype, i));
    /* A window that nothing is cut off from. */
    const struct shape *w = &g.graph.tensors[op->inputs[1]].shape;
    double terms = (double)(shape_count(w) / w->dim[0]);
    if (most != terms)
        printf("%s: %s: %g instead of %g\n", row->name, backend->table->name, most, terms);
    CU_ASSERT_EQUAL(most, terms);
    op_graph_done(&g);
}

/* Strided ones, as Winograd's transforms round by themselves. */
static void weights_are_rounded_to_the_activations_type(void) {
    struct backend *ref = NULL, *cpu = new_cpu(2);
    struct error err = {0};
    int rows = 0;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    for (int i = 0; i < op_case_count(); i++) {
        const struct op_case *row = op_case_at(i);
        if (row->kind != OP_LINEAR && (row->kind != OP_CONV2D || row->attr.window.stride != 2))
            continue;
        check_rounding(ref, row);
        check_rounding(cpu, row);
        rows++;
    }
    CU_ASSERT(rows >= 4);
    backend_close(ref);
    backend_close(cpu);
}

static void an_outlier_takes_no_digits_from_the_cpus_variance(void) {
    struct backend *cpu = new_cpu(2);
    parity_check_outliers(cpu);
    backend_close(cpu);
}

static void cpu_agrees_with_the_reference_in_f32(void) {
    compare_cpu(DTYPE_F32, 2);
}

static void cpu_agrees_with_the_reference_in_bf16(void) {
    compare_cpu(DTYPE_BF16, 1);
    compare_cpu(DTYPE_BF16, 4);
}
UNIT_SUITE("ops.parity_cpu", UNIT(cpu_agrees_with_the_reference_in_f32),
           UNIT(cpu_agrees_with_the_reference_in_bf16),
           UNIT(weights_are_rounded_to_the_activations_type),
           UNIT(an_outlier_takes_no_digits_from_the_cpus_variance))
#else
static void there_is_no_cpu_backend(void) {
    unit_skip("a build without oneDNN");
}

UNIT_SUITE("ops.parity_cpu", UNIT(there_is_no_cpu_backend))
#endif
