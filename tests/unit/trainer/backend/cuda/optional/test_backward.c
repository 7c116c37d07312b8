#include "tests/support/unit.h"
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/optional/backward.h"
#include "trainer/graph/build/build.h"

/* The choice of the optional backward kernel: by option, GPU, form and number of channels. No
 * kernel runs here. */

static bool chosen(enum cuda_own wanted, const char *name, int major) {
    struct error err = {0};
    bool own = true;
    CU_ASSERT_EQUAL(cuda_backward_choose(wanted, name, major, 0, &own, &err), 0);
    return own;
}

/* `auto` goes by the list in tuned_gpus.c, which is empty. */
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

/* x, and g after the convolution, of a graph with nothing else. */
static bool supports_kind(enum op_kind kind, bool own, enum dtype dtype, int64_t in, int64_t out) {
    struct graph graph;
    struct cuda cuda = {.own_backward = own};
    struct op op = {.kind = kind};
    graph_init(&graph, dtype, true);
    op.inputs[CONV_BACKWARD_W] = graph_input(&graph, "w", DTYPE_F32, shape_4(out, 1, 1, in));
    op.inputs[CONV_BACKWARD_G] = graph_input(&graph, "g", dtype, shape_4(2, 7, 7, out));
    bool has = cuda_backward_supports(&cuda, &graph, &op);
    graph_done(&graph);
    return has;
}

static bool supports(bool own, enum dtype dtype, int64_t in, int64_t out) {
    return supports_kind(OP_CONV2D_BACKWARD_NORM, own, dtype, in, out);
}

/* 227 KiB of shared memory hold at least two stages of what arrives, or there is no such kernel. */
static void each_form_has_the_channels_that_fit_a_block(void) {
    static const struct {
        int64_t in, out;
        bool plain, norm, join;
    } rows[] = {{64, 64, true, true, true},     {64, 256, true, true, true},
                {256, 64, true, true, true},    {256, 128, true, true, true},
                {512, 128, true, true, true},   {512, 256, true, true, true},
                {128, 512, true, true, false},  {512, 512, true, true, false},
                {1024, 64, false, false, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t in = rows[i].in, out = rows[i].out;
        CU_ASSERT_EQUAL(supports_kind(OP_CONV2D_BACKWARD, true, DTYPE_F16, in, out), rows[i].plain);
        CU_ASSERT_EQUAL(supports(true, DTYPE_F16, in, out), rows[i].norm);
        CU_ASSERT_EQUAL(supports_kind(OP_CONV2D_BACKWARD_JOIN, true, DTYPE_F16, in, out),
                        rows[i].join);
        CU_ASSERT_FALSE(supports_kind(OP_CONV2D_BACKWARD_JOIN, false, DTYPE_F16, in, out));
    }
}

/* 96 channels have no kernel, f32 has none at all. */
static void channels_and_types_have_their_kernels(void) {
    CU_ASSERT_TRUE(supports(true, DTYPE_F16, 64, 256));
    CU_ASSERT_TRUE(supports(true, DTYPE_BF16, 128, 512));
    CU_ASSERT_FALSE(supports(false, DTYPE_F16, 64, 256));
    CU_ASSERT_FALSE(supports(true, DTYPE_F32, 64, 256));
    CU_ASSERT_FALSE(supports(true, DTYPE_F16, 96, 256));
    CU_ASSERT_FALSE(supports(true, DTYPE_F16, 256, 1024));
}

UNIT_SUITE("cuda.backward", UNIT(nothing_is_taken_that_was_not_measured),
           UNIT(who_asks_for_it_gets_it), UNIT(where_it_cannot_run_asking_for_it_is_an_error),
           UNIT(channels_and_types_have_their_kernels),
           UNIT(each_form_has_the_channels_that_fit_a_block))
