/* What a detector's operators make on the CPU does not depend on the number of threads, to the last
 * bit: each row on 1, 2 and 5 of them. */
#include "ops/harness.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RINGMASTER_HAVE_CPU
static const int threads[] = {1, 2, 5};
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

static void check_row(const struct op_case *row, enum dtype dtype, struct backend **cpu) {
    struct op_graph g;
    void *result[CASE_TENSORS_MAX] = {0};
    op_graph_init(&g, row, dtype);
    new_results(&g, result);
    for (int op = 0; op < g.graph.op_count; op++) {
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

static void check_list(const struct op_case_list *list) {
    struct backend *cpu[BACKENDS] = {NULL};
    for (int i = 0; i < BACKENDS; i++) {
        struct cpu_options options = {.threads = threads[i]};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu[i], &options, NULL), 0);
    }
    for (int i = 0; i < list->count; i++) {
        check_row(&list->rows[i], DTYPE_F32, cpu);
        check_row(&list->rows[i], DTYPE_BF16, cpu);
    }
    for (int i = 0; i < BACKENDS; i++)
        backend_close(cpu[i]);
}

static void threads_do_not_show_around_proposals(void) {
    check_list(&op_cases_rpn);
}

static void threads_do_not_show_behind_proposals(void) {
    check_list(&op_cases_roi);
}

UNIT_MAIN("ops.threads", UNIT(threads_do_not_show_around_proposals),
          UNIT(threads_do_not_show_behind_proposals))
#else
static void there_is_no_cpu_backend(void) {
    unit_skip("a build without oneDNN");
}

UNIT_MAIN("ops.threads", UNIT(there_is_no_cpu_backend))
#endif
