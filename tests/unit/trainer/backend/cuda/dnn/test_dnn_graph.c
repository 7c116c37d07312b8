#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/dnn_graph.h"

#include <string.h>

/* Graphs are only built here, which cuDNN does without a GPU: it checks that descriptors fit
 * together. Whether an engine runs a graph is asked in test_dnn_plan.c and tests/plans. */

static const struct dnn_conv pointwise = {.batch = 32,
                                          .height = 14,
                                          .width = 14,
                                          .in_channels = 64,
                                          .out_channels = 256,
                                          .kernel = {1, 1},
                                          .stride = 1,
                                          .groups = 1};
static const struct dnn_conv strided = {.batch = 32,
                                        .height = 28,
                                        .width = 28,
                                        .in_channels = 64,
                                        .out_channels = 64,
                                        .kernel = {3, 3},
                                        .stride = 2,
                                        .groups = 1,
                                        .padding = {1, 1}};

/* Room for operations and descriptors is fixed, so the longest pattern is built as well. */
static void every_pattern_builds_in_every_type(void) {
    static const cudnnDataType_t types[] = {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT};
    for (int p = 0; p < DNN_PATTERN_COUNT; p++) {
        for (size_t t = 0; t < 3; t++) {
            struct error err = {0};
            struct dnn_graph graph;
            CU_ASSERT_EQUAL(
                dnn_graph_build(&graph, (enum dnn_pattern)p, &pointwise, types[t], &err), 0);
            CU_ASSERT_STRING_EQUAL(err.text, "");
            dnn_graph_done(&graph);
        }
    }
}

/* A reduction alone applies to strides, too. */
static void joins_do_not_apply_to_a_strided_convolution(void) {
    CU_ASSERT(dnn_pattern_applies(DNN_JOIN_FORWARD_STATS, &pointwise));
    CU_ASSERT(!dnn_pattern_applies(DNN_JOIN_FORWARD_STATS, &strided));
    CU_ASSERT(!dnn_pattern_applies(DNN_GRAD_DATA_ADD_NORM, &strided));
    CU_ASSERT(dnn_pattern_applies(DNN_GRAD_DATA_NORM, &strided));
}

/* Names are keys of the plan cache. */
static void patterns_have_names_of_their_own(void) {
    for (int a = 0; a < DNN_PATTERN_COUNT; a++)
        for (int b = 0; b < a; b++)
            CU_ASSERT(strcmp(dnn_pattern_name((enum dnn_pattern)a),
                             dnn_pattern_name((enum dnn_pattern)b)) != 0);
}

/* The half-built graph is freed like a whole one; sanitizers see the leak otherwise. */
static void an_impossible_convolution_is_an_error_and_leaks_nothing(void) {
    struct dnn_conv bad = pointwise;
    bad.in_channels = 0;
    struct error err = {0};
    struct dnn_graph graph;
    CU_ASSERT_EQUAL(dnn_graph_build(&graph, DNN_FORWARD, &bad, CUDNN_DATA_HALF, &err), -1);
    ASSERT_CONTAINS(err.text, "forward: ");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    dnn_graph_done(&graph);
}

UNIT_SUITE("cuda.dnn_graph", UNIT(every_pattern_builds_in_every_type),
           UNIT(joins_do_not_apply_to_a_strided_convolution),
           UNIT(patterns_have_names_of_their_own),
           UNIT(an_impossible_convolution_is_an_error_and_leaks_nothing))
