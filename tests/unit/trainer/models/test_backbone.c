#include "trainer/graph/build/build.h"
#include "trainer/models/backbone.h"

#include "tests/support/unit.h"

#include <string.h>

static const struct backbone_family bottlenecks = {
    .name = "small", .bottleneck = true, .channels = 4, .blocks = {1, 2, 1, 1}};
static const struct backbone_family plain = {
    .name = "plain", .cifar = true, .channels = 4, .blocks = {1, 1, 0, 0}};

/* Builds the body for two pictures of 64 x 96. */
static void build(struct graph *graph, const struct backbone *backbone,
                  int ret_stages[BACKBONE_STAGES]) {
    graph_init(graph, DTYPE_F32, true);
    int x = graph_input(graph, "x", DTYPE_F32, shape_4(2, 64, 96, 3));
    backbone_build(graph, backbone, x, ret_stages);
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
}

static void every_stage_has_its_map(void) {
    const struct backbone backbone = {.family = &bottlenecks, .prefix = "", .epsilon = 1e-5};
    struct graph graph;
    int stages[BACKBONE_STAGES];
    build(&graph, &backbone, stages);
    for (int i = 0; i < BACKBONE_STAGES; i++) {
        const struct shape wanted = shape_4(2, 16 >> i, 24 >> i, 16 << i);
        CU_ASSERT_TRUE(shape_equal(&graph.tensors[stages[i]].shape, &wanted));
        CU_ASSERT_EQUAL(backbone_channels(&bottlenecks, i), 16 << i);
    }
    graph_done(&graph);
}

/* Returns the stride of the convolution NAME. */
static int stride_of(const struct graph *graph, const char *name) {
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i].kind == OP_CONV2D && strcmp(graph->ops[i].name, name) == 0)
            return graph->ops[i].attr.window.stride;
    CU_FAIL("there is no such convolution");
    return 0;
}

/* Facebook's ResNets halve a map in the first 1x1 (detectron2: MODEL.RESNETS.STRIDE_IN_1X1); the
 * sizes of their maps are the same. */
static void strides_can_lie_in_the_first_convolution(void) {
    struct backbone backbone = {.family = &bottlenecks, .prefix = "", .epsilon = 1e-5};
    for (int first = 0; first <= 1; first++) {
        struct graph graph;
        int stages[BACKBONE_STAGES];
        backbone.stride_first = first == 1;
        build(&graph, &backbone, stages);
        CU_ASSERT_EQUAL(stride_of(&graph, "layer2.0.conv1"), first == 1 ? 2 : 1);
        CU_ASSERT_EQUAL(stride_of(&graph, "layer2.0.conv2"), first == 1 ? 1 : 2);
        CU_ASSERT_EQUAL(stride_of(&graph, "layer2.0.downsample.0"), 2);
        CU_ASSERT_EQUAL(stride_of(&graph, "layer2.1.conv1"), 1);
        CU_ASSERT_EQUAL(stride_of(&graph, "layer2.1.conv2"), 1);
        const struct shape wanted = shape_4(2, 8, 12, 32);
        CU_ASSERT_TRUE(shape_equal(&graph.tensors[stages[1]].shape, &wanted));
        graph_done(&graph);
    }
}

static void a_stage_without_blocks_has_none(void) {
    const struct backbone backbone = {.family = &plain, .prefix = "", .epsilon = 1e-5};
    const struct shape wanted = shape_4(2, 32, 48, 8); /* no pool, stride 2 once */
    struct graph graph;
    int stages[BACKBONE_STAGES];
    build(&graph, &backbone, stages);
    CU_ASSERT_TRUE(shape_equal(&graph.tensors[stages[1]].shape, &wanted));
    CU_ASSERT_EQUAL(stages[2], TENSOR_NONE);
    CU_ASSERT_EQUAL(stages[3], TENSOR_NONE);
    graph_done(&graph);
}

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_norm(const char *name) {
    return strstr(name, ".bn") != NULL || strstr(name, "downsample.1") != NULL;
}

/* Everything in the first FROZEN_STAGES stages is constant; of the other stages only the norms are,
 * if FROZEN_NORMS. */
static void expect_roles(int frozen_stages, bool frozen_norms) {
    static const char *const places[] = {"b.conv1",  "b.bn1",    "b.layer1",
                                         "b.layer2", "b.layer3", "b.layer4"};
    static const int stage_of[] = {1, 1, 2, 3, 4, 5};
    const struct backbone backbone = {.family = &bottlenecks,
                                      .prefix = "b.",
                                      .epsilon = 1e-5,
                                      .frozen_norms = frozen_norms,
                                      .frozen_stages = frozen_stages};
    struct graph graph;
    int stages[BACKBONE_STAGES], named = 0;
    build(&graph, &backbone, stages);
    CU_ASSERT_FALSE(graph.frozen);
    for (int t = 0; t < graph.tensor_count; t++) {
        const struct tensor *tensor = &graph.tensors[t];
        if (tensor->role == TENSOR_ACTIVATION || tensor->role == TENSOR_INPUT)
            continue;
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            if (!begins(tensor->name, places[i]))
                continue;
            bool norm = is_norm(tensor->name) || i == 1;
            bool running = strstr(tensor->name, ".running_") != NULL;
            bool constant = stage_of[i] <= frozen_stages || (norm && frozen_norms);
            enum tensor_role role = running ? TENSOR_STATE : TENSOR_PARAMETER;
            CU_ASSERT_EQUAL(tensor->role, constant ? TENSOR_CONSTANT : role);
            named++;
        }
    }
    /* A stem and 5 blocks of 3 convolutions, 4 blocks with one more in the shortcut: 5 tensors
     * each. */
    CU_ASSERT_EQUAL(named, 5 * (1 + 5 * 3 + 4));
    for (int o = 0; o < graph.op_count; o++) {
        const struct op *op = &graph.ops[o];
        if (op->kind != OP_BATCH_NORM && op->kind != OP_BATCH_NORM_INFERENCE)
            continue;
        bool frozen = graph.tensors[op->inputs[NORM_GAMMA]].role == TENSOR_CONSTANT;
        CU_ASSERT_EQUAL(op->kind == OP_BATCH_NORM_INFERENCE, frozen);
    }
    graph_done(&graph);
}

static void stages_and_norms_can_be_frozen(void) {
    expect_roles(0, false);
    expect_roles(0, true);
    expect_roles(1, false);
    expect_roles(2, true);
    expect_roles(5, true);
}

UNIT_SUITE("models.backbone", UNIT(every_stage_has_its_map),
           UNIT(strides_can_lie_in_the_first_convolution), UNIT(a_stage_without_blocks_has_none),
           UNIT(stages_and_norms_can_be_frozen))
