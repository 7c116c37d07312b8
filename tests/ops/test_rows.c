/* Operators of which some leading rows count, on the CPU (ops/rows.h). */
#include "ops/rows.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"

static void check(void (*rows_of)(struct backend *backend)) {
    struct backend *cpu = NULL;
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
    rows_of(cpu);
    backend_close(cpu);
}

static void convolutions(void) {
    check(rows_of_convolutions);
}

static void convolutions_with_a_bias(void) {
    check(rows_of_convolutions_with_a_bias);
}

static void transposed_convolutions(void) {
    check(rows_of_transposed_convolutions);
}

static void biases(void) {
    check(rows_of_biases);
}

static void class_convolutions(void) {
    check(rows_of_class_convolutions);
}

UNIT_MAIN("ops.rows", UNIT(convolutions), UNIT(convolutions_with_a_bias),
          UNIT(transposed_convolutions), UNIT(biases), UNIT(class_convolutions))
#else
static void there_is_no_cpu_backend(void) {
    unit_skip("a build without oneDNN");
}

UNIT_MAIN("ops.rows", UNIT(there_is_no_cpu_backend))
#endif
