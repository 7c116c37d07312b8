/* Operators of which some leading rows count, on the CPU (ops/rows.h). */
#include "tests/ops/rows.h"
#include "tests/support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"

static void check(void (*rows_of)(struct backend *backend)) {
    struct backend *cpu = NULL;
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
    rows_of(cpu);
    backend_close(cpu);
}

ROWS_OF(ROWS_CASE)

UNIT_SUITE("ops.rows", ROWS_OF(ROWS_UNIT))
#else
static void there_is_no_cpu_backend(void) {
    unit_skip("a build without oneDNN");
}

UNIT_SUITE("ops.rows", UNIT(there_is_no_cpu_backend))
#endif
