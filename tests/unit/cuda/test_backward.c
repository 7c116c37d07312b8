#include "cuda/backward.h"
#include "cuda/context.h"
#include "support/unit.h"

static bool chosen(enum cuda_own wanted, const char *name, int major) {
    struct error err = {0};
    bool own = true;
    CU_ASSERT_EQUAL(cuda_backward_choose(wanted, name, major, 0, &own, &err), 0);
    return own;
}

static void nothing_is_taken_that_was_not_measured(void) {
    CU_ASSERT_FALSE(chosen(CUDA_OWN_AUTO, "NVIDIA H200", 9));
    CU_ASSERT_FALSE(chosen(CUDA_OWN_AUTO, "NVIDIA H100 80GB HBM3", 9));
    CU_ASSERT_FALSE(chosen(CUDA_OWN_AUTO, "NVIDIA A100-SXM4-80GB", 8));
}

static void who_asks_for_it_gets_it(void) {
    CU_ASSERT_TRUE(chosen(CUDA_OWN_ON, "NVIDIA H200", 9));
    CU_ASSERT_FALSE(chosen(CUDA_OWN_OFF, "NVIDIA H200", 9));
    CU_ASSERT_FALSE(chosen(CUDA_OWN_OFF, "NVIDIA A100-SXM4-80GB", 8));
}

static void where_it_cannot_run_asking_for_it_is_an_error(void) {
    struct error err = {0};
    bool own = true;
    CU_ASSERT_EQUAL(cuda_backward_choose(CUDA_OWN_ON, "NVIDIA B200", 10, 0, &own, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "NVIDIA B200 is sm_100");
    CU_ASSERT_FALSE(own);
}

/* x, and g behind the convolution, of a graph with nothing else. */
static bool supports(bool own, enum dtype dtype, int64_t in, int64_t out) {
    struct graph graph;
    struct cuda cuda = {.own_backward = own};
    struct op op = {.kind = OP_CONV2D_BACKWARD_NORM};
    graph_init(&graph, dtype, true);
    op.inputs[CONV_BACKWARD_X] = graph_input(&graph, "x", dtype, shape_4(2, 7, 7, in));
    op.inputs[CONV_BACKWARD_G] = graph_input(&graph, "g", dtype, shape_4(2, 7, 7, out));
    bool has = cuda_backward_supports(&cuda, &graph, &op);
    graph_done(&graph);
    return has;
}

static void channels_and_types_have_their_kernels(void) {
    CU_ASSERT_TRUE(supports(true, DTYPE_F16, 64, 256));
    CU_ASSERT_TRUE(supports(true, DTYPE_BF16, 128, 512));
    CU_ASSERT_FALSE(supports(false, DTYPE_F16, 64, 256));
    CU_ASSERT_FALSE(supports(true, DTYPE_F32, 64, 256));
    CU_ASSERT_FALSE(supports(true, DTYPE_F16, 96, 256));
    CU_ASSERT_FALSE(supports(true, DTYPE_F16, 256, 1024));
}

UNIT_MAIN("cuda.backward", UNIT(nothing_is_taken_that_was_not_measured),
          UNIT(who_asks_for_it_gets_it), UNIT(where_it_cannot_run_asking_for_it_is_an_error),
          UNIT(channels_and_types_have_their_kernels))
