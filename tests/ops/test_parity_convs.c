/* Every kind of convolution of the backend cpu against the reference, whatever the rules choose. */
#include "tests/support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "tests/ops/parity.h"
#include "trainer/backend/cpu/cpu.h"

static void each_kind_of_convolution_agrees_with_the_reference(void) {
    static const enum cpu_convs convs[] = {CPU_CONVS_ONEDNN, CPU_CONVS_GEMM};
    for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
        struct backend *cpu = NULL;
        struct cpu_options options = {.threads = 3, .convs = convs[i]};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
        parity_check_rows(cpu, DTYPE_F32, PARITY_ALL, "conv");
        backend_close(cpu);
    }
}

/* Winograd's products of 4x4 tiles have bounds of their own. A plain sum's error grows with the
 * square root of its length, and so does the rows' rule. Here values go through transforms first
 * and last, with coefficients of up to 8 that make terms larger than the result, which cancel: that
 * loses the same few bits whatever the number of channels. The largest errors found were 8.4e-6 of
 * the largest value, and 3.5e-6 in weight gradients, where the last transform is smaller; twice
 * that is allowed, which for many channels is less than the rule would allow. */
static double winograds_bound(enum op_kind kind) {
    return kind == OP_CONV2D_GRAD_WEIGHT ? 8e-6 : 2e-5;
}

static void winograds_products_agree_within_bounds_of_their_own(void) {
    struct backend *cpu = NULL;
    struct cpu_options options = {.threads = 3, .convs = CPU_CONVS_WINOGRAD};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
    parity_check_bounded(cpu, DTYPE_F32, "conv 3x3", winograds_bound);
    parity_check_rows(cpu, DTYPE_F32, PARITY_ALL, "conv");
    backend_close(cpu);
}

UNIT_SUITE("ops.parity_convs", UNIT(each_kind_of_convolution_agrees_with_the_reference),
           UNIT(winograds_products_agree_within_bounds_of_their_own))
#else
static void there_is_no_cpu_backend(void) {
    unit_skip("a build without oneDNN");
}

UNIT_SUITE("ops.parity_convs", UNIT(there_is_no_cpu_backend))
#endif
