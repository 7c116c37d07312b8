/* Every backend of this build against the reference. */
#include "graph/op.h"
#include "ops/harness.h"
#include "ops/parity.h"
#include "ref/ref.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#endif

#include <stdio.h>

/* The reference against itself: what the table describes can be run, also in place. */
static void every_row_runs_on_the_reference(void) {
    struct backend *ref = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    parity_check(ref, DTYPE_F32, PARITY_ALL);
    parity_check(ref, DTYPE_BF16, PARITY_ALL);
    parity_check(ref, DTYPE_F16, PARITY_ALL);
    backend_close(ref);
}

static void every_operator_has_a_row(void) {
    bool seen[OP_KINDS] = {false};
    for (int i = 0; i < op_case_count; i++) {
        struct op_graph g;
        op_graph_init(&g, &op_cases[i], DTYPE_F32);
        for (int op = 0; op < g.graph.op_count; op++)
            seen[g.graph.ops[op].kind] = true;
        op_graph_done(&g);
    }
    for (int kind = 0; kind < OP_KINDS; kind++) {
        if (!seen[kind])
            printf("%s has no row\n", op_name((enum op_kind)kind));
        CU_ASSERT(seen[kind]);
    }
}

#ifdef RINGMASTER_HAVE_CPU
static void compare_cpu(enum dtype dtype, int threads) {
    struct backend *cpu = NULL;
    struct error err = {0};
    struct cpu_options options = {.threads = threads};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, &err), 0);
    parity_check(cpu, dtype, PARITY_ALL);
    backend_close(cpu);
}

static void cpu_agrees_with_the_reference_in_f32(void) {
    compare_cpu(DTYPE_F32, 2);
}

static void cpu_agrees_with_the_reference_in_bf16(void) {
    compare_cpu(DTYPE_BF16, 1);
    compare_cpu(DTYPE_BF16, 4);
}
#define CPU_CASES                                                                                  \
    UNIT(cpu_agrees_with_the_reference_in_f32), UNIT(cpu_agrees_with_the_reference_in_bf16),
#else
#define CPU_CASES
#endif

UNIT_MAIN("ops.parity", CPU_CASES UNIT(every_row_runs_on_the_reference),
          UNIT(every_operator_has_a_row))
