/* Which plans Mask R-CNN's training step needs, without a GPU: its graph at the batches of the
 * recipes on the six canvases of COCO in f16 and bf16 is rewritten as for a device that is
 * described, and every convolution that is left, with a bias or a frozen norm taken along where a
 * plan for that is found, must have one. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/conv_plan.h"
#include "trainer/backend/cuda/dnn/conv_table.h"
#include "trainer/backend/cuda/operators.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/models/maskrcnn.h"

#include <stdio.h>
#include <string.h>

enum { ASKED_MAX = 256 };

/* A backend as far as fusion sees it: convolutions by their plans, all else by the rules. */
struct described {
    struct backend base;
    cudnnDataType_t type;
    struct dnn_device device;
    struct question {
        enum dnn_pattern pattern;
        struct dnn_conv conv;
        bool has;
    } asked[ASKED_MAX];
    int count;
};

static bool find_plan(const struct described *d, const struct question *q) {
    struct error err = {0};
    struct dnn_graph graph;
    static struct dnn_plan_list list;
    struct dnn_plan_query query = {.device = &d->device,
                                   .workspace_max = CONV_WORKSPACE_MAX,
                                   .most = 1,
                                   .precompiled = true,
                                   .deterministic = true};
    bool has = dnn_pattern_applies(q->pattern, &q->conv) &&
               dnn_graph_build(&graph, q->pattern, &q->conv, d->type, &err) == 0 &&
               dnn_plan_list_find(&list, &graph, &query, &err) == 0 && list.count > 0;
    if (err.code != 0)
        printf("%s\n", err.text);
    dnn_plan_list_done(&list);
    dnn_graph_done(&graph);
    return has;
}

static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    struct described *d = (struct described *)backend;
    const struct conv_table *form = conv_table(op);
    if (form == NULL)
        return !conv_table_is_conv(op) && cuda_rule(op->kind) != NULL;
    struct question q = {.pattern = form->pattern, .conv = conv_table_shape(form, graph, op)};
    for (int i = 0; i < d->count; i++)
        if (d->asked[i].pattern == q.pattern &&
            memcmp(&d->asked[i].conv, &q.conv, sizeof(q.conv)) == 0)
            return d->asked[i].has;
    CU_ASSERT_FATAL(d->count < ASKED_MAX);
    q.has = find_plan(d, &q);
    d->asked[d->count++] = q;
    return q.has;
}

static const struct backend_table table = {.name = "described", .supports = supports};

static int count_kind(const struct graph *graph, enum op_kind kind) {
    int count = 0;
    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i].kind == kind;
    return count;
}

static int count_missing(const struct described *d, const struct graph *graph) {
    int missing = 0;
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        if (supports(&d->base, graph, op))
            continue;
        missing++;
        printf("missing: %s %s\n", op_name(op->kind), op->name);
    }
    return missing;
}

/* Data gradients with the ReLU before them: two of each of the 13 blocks that learn, and the first
 * convolution's with the shortcut in all but the first block, where the input is frozen; the
 * pyramid's into the body's last join; three of the masks' head, which also sum for a bias. cuDNN
 * has engines for that only in f16. */
enum { BLOCKS = 4 + 6 + 3, MASK_CONVS = 3 };

static void hold_backward(const struct described *d, const struct graph *graph) {
    int masked = 0, shortcuts = 0, sums = 0, scaled = 0;
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        if (op->kind != OP_CONV2D_GRAD_DATA_AFFINE)
            continue;
        masked += op->inputs[AFFINE_GRAD_Y] != TENSOR_NONE;
        shortcuts += op->inputs[AFFINE_GRAD_SHORTCUT] != TENSOR_NONE;
        sums += op->outputs[AFFINE_GRAD_DBIAS] != TENSOR_NONE;
        scaled += op->inputs[AFFINE_GRAD_GAMMA] != TENSOR_NONE;
    }
    int missing = count_missing(d, graph), plain = count_kind(graph, OP_CONV2D_GRAD_DATA);
    printf("backward: %d operators, %d missing, %d data gradients with a ReLU (%d with a shortcut, "
           "%d with a bias's sums), %d with a norm's scale, %d plain, %d weight gradients with a "
           "scale, %d plain; left: %d norms, %d masks, %d bias sums\n",
           graph->op_count, missing, masked, shortcuts, sums, scaled, plain,
           count_kind(graph, OP_CONV2D_GRAD_WEIGHT_AFFINE),
           count_kind(graph, OP_CONV2D_GRAD_WEIGHT), count_kind(graph, OP_FROZEN_NORM_GRAD),
           count_kind(graph, OP_RELU_GRAD), count_kind(graph, OP_BIAS_GRAD));
    CU_ASSERT_EQUAL(missing, 0);
    const bool f16 = d->type == CUDNN_DATA_HALF;
    CU_ASSERT_EQUAL(masked, f16 ? 2 * BLOCKS + BLOCKS - 1 + 1 + MASK_CONVS : 0);
    CU_ASSERT_EQUAL(shortcuts, f16 ? BLOCKS - 1 : 0);
    CU_ASSERT_EQUAL(sums, f16 ? MASK_CONVS : 0);
    CU_ASSERT_EQUAL(count_kind(graph, OP_CONV2D_GRAD_WEIGHT_AFFINE), 3 * BLOCKS + 3);
    CU_ASSERT_EQUAL(count_kind(graph, OP_FROZEN_NORM_GRAD), 0);
}

static void hold(const char *device, enum dtype dtype, int batch, int height, int width) {
    static struct described d;
    struct error err = {0};
    struct graph graph;
    struct maskrcnn_tensors tensors;
    const struct maskrcnn_config config = {.model = "maskrcnn_resnet50_fpn",
                                           .preset = "tv",
                                           .batch = batch,
                                           .canvas_h = height,
                                           .canvas_w = width,
                                           .classes = 80,
                                           .objects = 100,
                                           .image_bytes = 3 << 20,
                                           .mask_bytes = 8 << 20,
                                           .training = true,
                                           .frozen_norms = true,
                                           .frozen_stages = 2,
                                           .dtype = dtype,
                                           .std = {1, 1, 1},
                                           .stem_channels = 4};
    d = (struct described){.base = {&table},
                           .type = dtype == DTYPE_F16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s.json", RINGMASTER_CUDA_DEVICES, device);
    CU_ASSERT_EQUAL_FATAL(dnn_device_read(&d.device, path, &err), 0);
    if (maskrcnn_build(&graph, &config, &tensors, &err) != 0)
        printf("%s\n", err.text);
    CU_ASSERT_FALSE_FATAL(graph.failed);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&graph, &d.base, FUSION_ALL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&graph, &d.base, FUSION_ALL, &err), 0);
    int missing = count_missing(&d, &graph), fused = count_kind(&graph, OP_CONV2D_AFFINE);
    printf(
        "%s, %s, batch %d, %d x %d: %d operators, %d distinct convolutions, %d missing, %d with a "
        "bias or a norm, %d without\n",
        device, dtype_name(dtype), batch, height, width, graph.op_count, d.count, missing, fused,
        count_kind(&graph, OP_CONV2D));
    CU_ASSERT_EQUAL(missing, 0);
    /* 53 of the body, 8 of the pyramid, five levels of the proposals' head, 4 of the masks'. */
    CU_ASSERT_EQUAL(fused, 53 + 8 + 5 + 4);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_BATCH_NORM_INFERENCE), 0);
    CU_ASSERT_EQUAL(count_kind(&graph, OP_RPN_HEAD_GRAD), 5);
    CU_ASSERT_EQUAL(graph_fuse_convolutions(&graph, &d.base, &err), 0);
    hold_backward(&d, &graph);
    graph_done(&graph);
    dnn_device_done(&d.device);
}

/* What bucket_plan_make() offers for sides of 800 to 1333. */
static void hold_all(const char *device, enum dtype dtype) {
    static const int batches[] = {12, 16}, long_sides[] = {1088, 1216, 1344};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < 3; i++) {
            hold(device, dtype, batches[b], 800, long_sides[i]);
            hold(device, dtype, batches[b], long_sides[i], 800);
        }
}

static void every_convolution_has_a_plan_on_sm_90(void) {
    hold_all("h100", DTYPE_F16);
    hold_all("h200", DTYPE_F16);
    hold_all("h100", DTYPE_BF16);
}

static void every_convolution_has_a_plan_on_sm_80(void) {
    hold_all("a100", DTYPE_F16);
    hold_all("a100", DTYPE_BF16);
}

UNIT_SUITE("plans.maskrcnn", UNIT(every_convolution_has_a_plan_on_sm_90),
           UNIT(every_convolution_has_a_plan_on_sm_80))
