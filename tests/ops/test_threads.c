/* What operators make on the CPU does not depend on the number of threads, to the last bit: each
 * row on 1, 2, 3 and 5 of them. */
#include "tests/ops/harness.h"
#include "tests/support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RINGMASTER_HAVE_CPU
static const int threads[] = {1, 2, 3, 5};
enum { BACKENDS = sizeof(threads) / sizeof(threads[0]) };

static void run_on(struct op_graph *g, int number, struct backend *cpu, void *const *result) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(op_graph_run(g, cpu, number, false, result, &err), 0);
}

static void new_results(const struct op_graph *g, void **result) {
    for (int i = 0; i < g->graph.tensor_count; i++) {
        result[i] = calloc(1, tensor_bytes(&g->graph.tensors[i]));
        CU_ASSERT_PTR_NOT_NULL_FATAL(result[i]);
    }
}

static void compare(const struct op_graph *g, int number, void *const *result) {
    const struct op *op = &g->graph.ops[number];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        int output = op->outputs[i];
        if (output == TENSOR_NONE)
            continue;
        if (memcmp(result[output], g->value[output], tensor_bytes(&g->graph.tensors[output])) !=
            0) {
            printf("%s: %s differs\n", g->row->name, op_name(op->kind));
            CU_FAIL("threads show in a result");
        }
    }
}

/* oneDNN's data gradients, which no network in f32 takes where their sums are cut by threads, and
 * its matrix products without AVX-512 are not promised. */
static bool is_promised(const struct op_graph *g, const struct op *op) {
    const struct tensor *x = &g->graph.tensors[op->inputs[0]];
    switch (op->kind) {
    case OP_CONV2D_GRAD_DATA: {
        const struct shape *dx = &g->graph.tensors[op->outputs[0]].shape;
        return x->dtype == DTYPE_F32 && dx->dim[3] % 16 == 0 && x->shape.dim[3] % 16 == 0;
    }
    case OP_LINEAR:
    case OP_LINEAR_GRAD_DATA:
    case OP_LINEAR_GRAD_WEIGHT:
        return strstr(cpu_describe_machine(), "avx512_core") != NULL;
    default:
        return true;
    }
}

static void check_row(const struct op_case *row, enum dtype dtype, struct backend **cpu) {
    struct op_graph g;
    void *result[CASE_TENSORS_MAX] = {0};
    op_graph_init(&g, row, dtype);
    new_results(&g, result);
    for (int op = 0; op < g.graph.op_count; op++) {
        if (!cpu[0]->table->supports(cpu[0], &g.graph, &g.graph.ops[op]) ||
            !is_promised(&g, &g.graph.ops[op]))
            continue;
        run_on(&g, op, cpu[0], g.value);
        for (int i = 1; i < BACKENDS; i++) {
            run_on(&g, op, cpu[i], result);
            compare(&g, op, result);
        }
    }
    for (int t = 0; t < CASE_TENSORS_MAX; t++)
        free(result[t]);
    op_graph_done(&g);
}

static void open_all(struct backend **cpu, enum cpu_convs convs) {
    for (int i = 0; i < BACKENDS; i++) {
        struct cpu_options options = {.threads = threads[i], .convs = convs};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu[i], &options, NULL), 0);
    }
}

static void close_all(struct backend **cpu) {
    for (int i = 0; i < BACKENDS; i++)
        backend_close(cpu[i]);
}

/* Those that are made of whole vectors of channels; oneDNN has the others. */
static bool is_own(const struct op_case *row) {
    return (row->kind == OP_CONV2D || row->kind == OP_CONV2D_GRAD_DATA ||
            row->kind == OP_CONV2D_AFFINE) &&
           row->x.dim[3] % 16 == 0 && row->outputs % 16 == 0;
}

static bool is_of_tiles(const struct op_case *row) {
    return is_own(row) && row->attr.window.kernel == 3 && row->attr.window.stride == 1;
}

static void check_products(enum cpu_convs convs, bool (*is_one)(const struct op_case *row)) {
    struct backend *cpu[BACKENDS] = {NULL};
    int rows = 0;
    open_all(cpu, convs);
    for (int i = 0; i < op_case_count(); i++)
        if (is_one(op_case_at(i))) {
            check_row(op_case_at(i), DTYPE_F32, cpu);
            rows++;
        }
    CU_ASSERT(rows > 10);
    close_all(cpu);
}

static void threads_do_not_show_in_products(void) {
    check_products(CPU_CONVS_GEMM, is_own);
}

static void threads_do_not_show_in_winograds_products(void) {
    check_products(CPU_CONVS_WINOGRAD, is_of_tiles);
}

static void threads_do_not_show_in_any_row(void) {
    struct backend *cpu[BACKENDS] = {NULL};
    open_all(cpu, CPU_CONVS_AUTO);
    for (int i = 0; i < op_case_count(); i++) {
        check_row(op_case_at(i), DTYPE_F32, cpu);
        check_row(op_case_at(i), DTYPE_BF16, cpu);
    }
    close_all(cpu);
}

UNIT_SUITE("ops.threads", UNIT(threads_do_not_show_in_any_row),
           UNIT(threads_do_not_show_in_products), UNIT(threads_do_not_show_in_winograds_products))
#else
static void there_is_no_cpu_backend(void) {
    unit_skip("a build without oneDNN");
}

UNIT_SUITE("ops.threads", UNIT(there_is_no_cpu_backend))
#endif
