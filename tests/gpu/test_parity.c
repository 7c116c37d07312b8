/* Every operator of the CUDA backend against the reference, on the device. */
#include "tests/gpu/gpu.h"
#include "tests/ops/harness.h"
#include "tests/ops/parity.h"
#include "tests/support/unit.h"
#include "trainer/backend/cuda/operators.h"
#include "trainer/backend/cuda/optional/backward.h"
#include "trainer/graph/op.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* f16 products have ten bits of mantissa, and so has TF32. */
static const double TF32_LEAST = 2e-3;

static bool is_hopper(void) {
    int major = 0;
    CU_ASSERT_EQUAL(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
                    cudaSuccess);
    return major == 9;
}

/* What the rules name must be there, but for fused convolutions, which depend on the architecture:
 * on Hopper all of them are there in f16. */
static void check_support(struct backend *backend, enum dtype dtype) {
    bool all = dtype == DTYPE_F16 && is_hopper();
    int fused = 0, missing = 0;
    const char *words = getenv("OPS_ROWS");
    for (int i = 0; i < op_case_count(); i++) {
        if (!op_case_is_meant(op_case_at(i), words))
            continue;
        struct op_graph g;
        op_graph_init(&g, op_case_at(i), dtype);
        for (int op = 0; op < g.graph.op_count; op++) {
            enum op_kind kind = g.graph.ops[op].kind;
            bool has = backend->table->supports(backend, &g.graph, &g.graph.ops[op]);
            if (kind < OP_CONV2D_STATS || cuda_rule(kind) != &cuda_conv_rule) {
                bool wanted =
                    cuda_rule(kind) != NULL && cuda_backward_supports((const struct cuda *)backend,
                                                                      &g.graph, &g.graph.ops[op]);
                CU_ASSERT_EQUAL(has, wanted);
                continue;
            }
            fused++;
            missing += !has;
            if (!has && all)
                printf("%s: no plan for %s\n", op_case_at(i)->name, op_name(kind));
        }
        op_graph_done(&g);
    }
    printf("%s in %s: %d of %d fused convolutions have a plan\n", backend->table->describe(backend),
           dtype_name(dtype), fused - missing, fused);
    CU_ASSERT(!all || missing == 0);
}

static void compare(enum dtype dtype, struct cuda_options options, double least) {
    if (!gpu_here())
        return;
    struct backend *backend = gpu_open(options);
    check_support(backend, dtype);
    parity_check_rounded(backend, dtype, least);
    backend_close(backend);
}

static void cuda_agrees_with_the_reference_in_f32(void) {
    compare(DTYPE_F32, GPU_EXACT, 0);
}

static void cuda_agrees_with_the_reference_in_tf32(void) {
    compare(DTYPE_F32, (struct cuda_options){.local_ranks = 1, .tf32 = true, .loss_scale = 1},
            TF32_LEAST);
}

static void cuda_agrees_with_the_reference_in_bf16(void) {
    compare(DTYPE_BF16, GPU_EXACT, 0);
}

static void cuda_agrees_with_the_reference_in_f16(void) {
    compare(DTYPE_F16, GPU_EXACT, 0);
}

/* Whatever plan timing chooses is right, too. */
static void tuned_plans_agree_in_f16(void) {
    compare(DTYPE_F16, (struct cuda_options){.local_ranks = 1, .tune = true, .loss_scale = 1}, 0);
}

static void memory_that_is_not_there_is_an_error_with_numbers(void) {
    if (!gpu_here())
        return;
    struct backend *backend = gpu_open(GPU_EXACT);
    struct error err = {0};
    CU_ASSERT_PTR_NULL(backend->table->alloc(backend, (size_t)1 << 46, &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "67108864.0 MiB needed");
    /* And the backend goes on. */
    void *memory = backend->table->alloc(backend, 4096, &err);
    CU_ASSERT_PTR_NOT_NULL(memory);
    CU_ASSERT_EQUAL(backend->table->sync(backend, &err), 0);
    backend->table->free(backend, memory, 4096);
    backend_close(backend);
}

UNIT_SUITE("gpu.parity", UNIT(cuda_agrees_with_the_reference_in_f32),
           UNIT(cuda_agrees_with_the_reference_in_tf32),
           UNIT(cuda_agrees_with_the_reference_in_bf16),
           UNIT(cuda_agrees_with_the_reference_in_f16), UNIT(tuned_plans_agree_in_f16),
           UNIT(memory_that_is_not_there_is_an_error_with_numbers))
