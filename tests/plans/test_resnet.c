/* Which plans must exist, without a GPU: for every convolution of ResNet-18, -34 and -50 at three
 * batch sizes, and two described devices, each operation graph of the fused training step is held
 * against the table below. What cuDNN only compiles at run time needs a driver and is listed, not
 * counted. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/dnn_plan.h"
#include "trainer/graph/graph.h"
#include "trainer/models/resnet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* For which convolutions a precompiled plan must exist. */
enum promise {
    NO_CONV,        /* none: the fusion level falls back, or a driver compiles it */
    POINTWISE_ONLY, /* the 1x1 ones */
    BODY,           /* all but the stem: no fused engine takes its four input channels */
    EVERY_CONV
};

enum architecture { SM_80, SM_90, ARCHITECTURES };

static const struct {
    const char *name, *file;
} devices[ARCHITECTURES] = {
    [SM_80] = {"A100", "a100.json"},
    [SM_90] = {"H100", "h100.json"},
};

static const enum promise promises[DNN_PATTERN_COUNT][ARCHITECTURES] = {
    /*                               sm_80       sm_90 */
    [DNN_FORWARD] = {EVERY_CONV, EVERY_CONV},
    [DNN_GRAD_DATA] = {EVERY_CONV, EVERY_CONV},
    [DNN_GRAD_WEIGHT] = {EVERY_CONV, EVERY_CONV},
    [DNN_FORWARD_STATS] = {BODY, BODY},
    [DNN_NORM_FORWARD_STATS] = {BODY, BODY},
    [DNN_JOIN_FORWARD_STATS] = {NO_CONV, POINTWISE_ONLY},
    [DNN_DUAL_JOIN_FORWARD_STATS] = {NO_CONV, POINTWISE_ONLY},
    [DNN_FORWARD_BIAS] = {EVERY_CONV, EVERY_CONV},
    [DNN_FORWARD_BIAS_RELU] = {EVERY_CONV, EVERY_CONV},
    [DNN_FORWARD_BIAS_ADD_RELU] = {EVERY_CONV, EVERY_CONV},
    [DNN_NORM_GRAD_WEIGHT] = {BODY, BODY},
    [DNN_GRAD_DATA_NORM] = {BODY, BODY},
    [DNN_GRAD_DATA_ADD_NORM] = {BODY, BODY},
    [DNN_GRAD_DATA_ADD_JOIN] = {BODY, BODY},
    [DNN_GRAD_DATA_ADD_DUAL_JOIN] = {BODY, BODY},
};

static bool promised(enum promise promise, const struct dnn_conv *conv) {
    bool stem = conv->in_channels < 8;
    switch (promise) {
    case EVERY_CONV:
        return true;
    case BODY:
        return !stem;
    case POINTWISE_ONLY:
        return conv->kernel[0] == 1;
    default:
        return false;
    }
}

enum { SHAPES_MAX = 64 };

/* Adds the convolutions of MODEL that are not among the COUNT ones yet; returns the new count. */
static int add_convolutions(const char *model, int batch, struct dnn_conv shapes[SHAPES_MAX],
                            int count) {
    struct graph graph;
    struct resnet_tensors tensors;
    struct error err = {0};
    struct resnet_config config = {
        .model = model,
        .batch = batch,
        .image_size = 224,
        .classes = 1000,
        .training = true,
        .dtype = DTYPE_F16,
        .std = {1, 1, 1},
        .stem_channels = 4,
    };
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    for (int i = 0; i < graph.op_count; i++) {
        const struct op *op = &graph.ops[i];
        if (op->kind != OP_CONV2D)
            continue;
        const int64_t *x = graph.tensors[op->inputs[0]].shape.dim;
        const int64_t *w = graph.tensors[op->inputs[1]].shape.dim;
        struct dnn_conv conv = {
            .batch = x[0],
            .height = x[1],
            .width = x[2],
            .in_channels = x[3],
            .out_channels = w[0],
            .kernel = {w[1], w[2]},
            .stride = op->attr.window.stride,
            .padding = {op_window_pad(&op->attr.window, 0), op_window_pad(&op->attr.window, 1)},
            .groups = op_window_groups(&op->attr.window)};
        int known = 0;
        while (known < count && memcmp(&shapes[known], &conv, sizeof(conv)) != 0)
            known++;
        if (known == count) {
            CU_ASSERT_FATAL(count < SHAPES_MAX);
            shapes[count++] = conv;
        }
    }
    graph_done(&graph);
    return count;
}

/* What was found for one pattern over all convolutions of one model. */
struct tally {
    int convs, precompiled, missing;
    int64_t workspace; /* the largest among the first plans, bytes */
};

static void try_plan(struct tally *tally, enum dnn_pattern pattern, const struct dnn_conv *conv,
                     const struct dnn_device *device, bool must) {
    struct error err = {0};
    struct dnn_graph graph;
    static struct dnn_plan_list list;
    struct dnn_plan_query query = {.device = device, .workspace_max = INT64_C(2) << 30, .most = 1};
    CU_ASSERT_EQUAL_FATAL(dnn_graph_build(&graph, pattern, conv, CUDNN_DATA_HALF, &err), 0);
    CU_ASSERT_EQUAL_FATAL(dnn_plan_list_find(&list, &graph, &query, &err), 0);
    bool precompiled = list.count > 0 && !list.plans[0].runtime_compiled;
    tally->convs++;
    tally->precompiled += precompiled;
    if (precompiled && list.plans[0].workspace > tally->workspace)
        tally->workspace = list.plans[0].workspace;
    if (must && !precompiled) {
        tally->missing++;
        printf("no precompiled plan: %s %" PRId64 "x%" PRId64 "x%" PRId64 " -> %" PRId64
               ", kernel %" PRId64 " stride %" PRId64 "\n",
               dnn_pattern_name(pattern), conv->height, conv->width, conv->in_channels,
               conv->out_channels, conv->kernel[0], conv->stride);
    }
    dnn_plan_list_done(&list);
    dnn_graph_done(&graph);
}

static void hold(int batch, enum architecture architecture) {
    static const char *const models[] = {"resnet18", "resnet34", "resnet50"};
    struct error err = {0};
    struct dnn_device device;
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", RINGMASTER_CUDA_DEVICES, devices[architecture].file);
    CU_ASSERT_EQUAL_FATAL(dnn_device_read(&device, path, &err), 0);
    struct dnn_conv shapes[SHAPES_MAX];
    int count = 0;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        count = add_convolutions(models[i], batch, shapes, count);
    CU_ASSERT(count > 20);
    printf("\nbatch %d, %s: %d distinct convolutions\n", batch, devices[architecture].name, count);
    printf("  %-26s %6s %12s %15s %13s\n", "pattern", "convs", "precompiled", "needs a driver",
           "workspace MB");
    for (int p = 0; p < DNN_PATTERN_COUNT; p++) {
        enum dnn_pattern pattern = (enum dnn_pattern)p;
        struct tally tally = {0};
        for (int i = 0; i < count; i++)
            if (dnn_pattern_applies(pattern, &shapes[i]))
                try_plan(&tally, pattern, &shapes[i], &device,
                         promised(promises[p][architecture], &shapes[i]));
        printf("  %-26s %6d %12d %15d %13.1f\n", dnn_pattern_name(pattern), tally.convs,
               tally.precompiled, tally.convs - tally.precompiled, (double)tally.workspace / 1e6);
        CU_ASSERT_EQUAL(tally.missing, 0);
    }
    dnn_device_done(&device);
}

static void every_promised_plan_finalizes_at_batch_64(void) {
    hold(64, SM_80);
    hold(64, SM_90);
}

static void every_promised_plan_finalizes_at_batch_256(void) {
    hold(256, SM_80);
    hold(256, SM_90);
}

static void every_promised_plan_finalizes_at_batch_512(void) {
    hold(512, SM_80);
    hold(512, SM_90);
}

UNIT_SUITE("plans.resnet", UNIT(every_promised_plan_finalizes_at_batch_64),
           UNIT(every_promised_plan_finalizes_at_batch_256),
           UNIT(every_promised_plan_finalizes_at_batch_512))
