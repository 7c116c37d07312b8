#include "trainer/graph/op.h"
#include "trainer/models/detect_preset.h"
#include "trainer/models/maskrcnn.h"

#include "tests/golden/values.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <string.h>

static struct maskrcnn_config config_of(const char *model, bool training) {
    return (struct maskrcnn_config){.model = model,
                                    .preset = "tv",
                                    .batch = 2,
                                    .canvas_h = 128,
                                    .canvas_w = 160,
                                    .classes = 90,
                                    .objects = 8,
                                    .image_bytes = 3 * 100 * 100,
                                    .mask_bytes = 1000,
                                    .training = training,
                                    .dtype = DTYPE_F32,
                                    .mean = {0.5F, 0.5F, 0.5F},
                                    .std = {0.25F, 0.25F, 0.25F}};
}

static void build(struct graph *graph, const struct maskrcnn_config *config,
                  struct maskrcnn_tensors *t) {
    struct error err = {0};
    if (maskrcnn_build(graph, config, t, &err) != 0)
        printf("%s\n", err.text);
    CU_ASSERT_FALSE_FATAL(graph->failed);
}

static bool is_stored(const struct tensor *tensor) {
    return tensor->role == TENSOR_PARAMETER || tensor->role == TENSOR_STATE ||
           tensor->role == TENSOR_CONSTANT;
}

/* "NAME 64 3 7 7" as in the state of torchvision's model; maps of a linear layer are flat there. */
static void describe(const struct tensor *tensor, char line[160]) {
    const int64_t *d = tensor->shape.dim;
    if (tensor->file == FILE_MATRIX)
        (void)snprintf(line, 160, "\n%s %" PRId64 " %" PRId64 "\n", tensor->name, d[0],
                       d[1] * d[2] * d[3]);
    else if (tensor->file == FILE_PIXELWISE)
        (void)snprintf(line, 160, "\n%s %" PRId64 " %" PRId64 " 1 1\n", tensor->name, d[0], d[1]);
    else if (tensor->shape.rank == 4)
        (void)snprintf(line, 160, "\n%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                       tensor->name, d[0], d[3], d[1], d[2]);
    else if (tensor->shape.rank == 2)
        (void)snprintf(line, 160, "\n%s %" PRId64 " %" PRId64 "\n", tensor->name, d[0], d[1]);
    else
        (void)snprintf(line, 160, "\n%s %" PRId64 "\n", tensor->name, d[0]);
}

/* tests/golden/maskrcnn/keys.txt: torchvision 0.29.2, without the counts of batches. */
static void expect_keys(bool training) {
    struct maskrcnn_config config = config_of("maskrcnn_resnet50_fpn", training);
    struct maskrcnn_tensors t;
    struct graph graph;
    struct buf keys = values_open("maskrcnn/keys.txt");
    char line[160];
    int64_t elements = 0;
    int named = 0;
    build(&graph, &config, &t);
    for (int i = 0; i < graph.tensor_count; i++) {
        const struct tensor *tensor = &graph.tensors[i];
        if (!is_stored(tensor))
            continue;
        describe(tensor, line);
        if (strstr(buf_text(&keys), line) == NULL)
            printf("torchvision has no%s", line);
        CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(&keys), line));
        elements += tensor->role == TENSOR_PARAMETER ? tensor_count(tensor) : 0;
        named++;
    }
    CU_ASSERT_EQUAL(named, 307);
    CU_ASSERT_EQUAL(elements, 44454513); /* torchvision's count of what is trained from scratch */
    graph_done(&graph);
    buf_done(&keys);
}

static void names_and_shapes_are_torchvisions(void) {
    expect_keys(true);
    expect_keys(false);
}

static void expect_shape(const struct graph *graph, int tensor, struct shape shape) {
    CU_ASSERT_TRUE(shape_equal(&graph->tensors[tensor].shape, &shape));
}

static void a_step_has_its_losses_and_an_evaluation_its_detections(void) {
    struct maskrcnn_config config = config_of("maskrcnn_tiny", true);
    struct maskrcnn_tensors t;
    struct graph graph;
    build(&graph, &config, &t);
    CU_ASSERT_EQUAL(graph.loss_count, 3);
    expect_shape(&graph, t.metrics, shape_1(DETECT_METRICS));
    expect_shape(&graph, t.gt_mask_at, shape_3(2, 8, 5));
    CU_ASSERT_EQUAL(t.found_box, TENSOR_NONE);
    graph_done(&graph);
    config.training = false;
    build(&graph, &config, &t);
    CU_ASSERT_EQUAL(graph.loss_count, 0);
    CU_ASSERT_EQUAL(t.gt_box, TENSOR_NONE);
    CU_ASSERT_EQUAL(t.metrics, TENSOR_NONE);
    expect_shape(&graph, t.found_box, shape_3(2, 100, 4));
    expect_shape(&graph, t.found_mask, shape_3(200, 28, 28));
    graph_done(&graph);
}

/* Outlines have three inputs, which the masks' targets read; the region's least side is theirs. */
static void masks_may_come_from_outlines(void) {
    struct maskrcnn_config config = config_of("maskrcnn_tiny", true);
    struct maskrcnn_tensors t;
    struct graph graph;
    config.preset = "d2";
    config.polygons = 7;
    config.points = 30;
    build(&graph, &config, &t);
    expect_shape(&graph, t.gt_parts, shape_3(2, 8, 2));
    expect_shape(&graph, t.polygon, shape_2(14, 2));
    expect_shape(&graph, t.point, shape_2(60, 2));
    int found = 0;
    for (int i = 0; i < graph.op_count; i++) {
        const struct op *op = &graph.ops[i];
        if (op->kind != OP_MASK_TARGETS)
            continue;
        found++;
        CU_ASSERT_EQUAL(op->inputs[MASK_TARGETS_PARTS], t.gt_parts);
        CU_ASSERT_EQUAL(op->inputs[MASK_TARGETS_PART], t.polygon);
        CU_ASSERT_EQUAL(op->inputs[MASK_TARGETS_POINT], t.point);
        CU_ASSERT_EQUAL(op->attr.detect.min_side, 0.1F);
    }
    CU_ASSERT_EQUAL(found, 1);
    graph_done(&graph);
}

/* The first operator's numbers: a preset's pixels, or the caller's. */
static void pixels_are_the_presets(void) {
    struct maskrcnn_config config = config_of("maskrcnn_tiny", false);
    struct maskrcnn_tensors t;
    struct graph graph;
    build(&graph, &config, &t);
    CU_ASSERT_EQUAL(graph.ops[0].kind, OP_IMAGE_RESIZE);
    CU_ASSERT(graph.ops[0].attr.mean[0] == 0.5F && graph.ops[0].attr.std[0] == 0.25F);
    graph_done(&graph);
    config.preset = "mlperf";
    build(&graph, &config, &t);
    CU_ASSERT(graph.ops[0].attr.mean[0] == 102.9801F && graph.ops[0].attr.mean[2] == 122.7717F);
    CU_ASSERT_EQUAL(graph.ops[0].attr.std[1], 1);
    CU_ASSERT((graph.ops[0].attr.detect.flags & DETECT_PIXELS_BGR) != 0);
    graph_done(&graph);
}

/* A model's own rules reach the norms, the proposals and the detections, and leave a training's
 * numbers alone. */
static void rules_of_a_model_go_before_the_presets(void) {
    struct detect_rules rules = detect_preset_find("tv")->rules;
    struct maskrcnn_tensors t;
    for (int r = 0; r < 2; r++) {
        struct maskrcnn_config config = config_of("maskrcnn_tiny", r == 1);
        struct graph graph;
        int norms = 0, found = 0, ranked = 0;
        rules.value[RULE_NORM_EPSILON] = 0;
        rules.value[RULE_PRE_NMS] = 40;
        rules.value[RULE_SCORE] = 0.25;
        rules.value[RULE_DETECTIONS] = 7;
        config.rules = &rules;
        config.frozen_norms = true;
        build(&graph, &config, &t);
        for (int i = 0; i < graph.op_count; i++) {
            const struct op *op = &graph.ops[i];
            bool norm = strncmp(op_name(op->kind), "batch_norm", 10) == 0;
            norms += norm && op->attr.epsilon == 0;
            CU_ASSERT(!norm || op->attr.epsilon == 0);
            ranked += op->kind == OP_RPN_TOP_K && op->attr.detect.pre_nms == (r == 1 ? 2000 : 40);
            found += op->kind == OP_DETECTIONS && op->attr.detect.detections == 7 &&
                     op->attr.detect.score_threshold == 0.25F;
        }
        CU_ASSERT_EQUAL(norms, 1 + 4 * 4); /* the stem's, three and a shortcut's of each stage */
        CU_ASSERT_EQUAL(ranked, 1);
        CU_ASSERT_EQUAL(found, r == 1 ? 0 : 1);
        if (r == 0)
            expect_shape(&graph, t.found_box, shape_3(2, 7, 4));
        graph_done(&graph);
    }
}

/* What counts rows of the mask head are its convolutions and what lies between. */
static void rows_of_masks_are_counted(void) {
    struct maskrcnn_config config = config_of("maskrcnn_tiny", true);
    struct maskrcnn_tensors t;
    struct graph graph;
    int counted = 0;
    build(&graph, &config, &t);
    for (int i = 0; i < graph.op_count; i++) {
        bool of_masks = strncmp(graph.ops[i].name, "roi_heads.mask", 14) == 0;
        bool around = strcmp(graph.ops[i].name, "roi_heads.mask_rows") == 0 ||
                      strcmp(graph.ops[i].name, "roi_heads.mask_loss") == 0;
        CU_ASSERT_EQUAL(graph.ops[i].rows != TENSOR_NONE, of_masks && !around);
        counted += graph.ops[i].rows != TENSOR_NONE;
    }
    CU_ASSERT_EQUAL(counted, 9); /* align, targets, 2 + 1 convolutions with biases, logits */
    graph_done(&graph);
}

static void levels_are_those_of_the_canvas(void) {
    static const int sides[] = {32, 64, 128, 256, 512};
    const struct detect_canvas canvas = {.height = 800,
                                         .width = 1088,
                                         .anchors = sides,
                                         .objects = 8,
                                         .classes = 90,
                                         .training = true};
    const struct detect_preset *tv = detect_preset_find("tv");
    CU_ASSERT_PTR_NOT_NULL_FATAL(tv);
    const struct detect_attr rpn = detect_preset_rpn(tv, &canvas);
    const struct detect_attr regions = detect_preset_regions(tv, &canvas);
    CU_ASSERT_EQUAL(rpn.levels, 5);
    CU_ASSERT_EQUAL(regions.levels, 4);
    CU_ASSERT_EQUAL(rpn.stride_h[0], 4);
    CU_ASSERT_EQUAL(rpn.stride_h[4], 61); /* 800 / 13, as torchvision rounds it */
    CU_ASSERT_EQUAL(rpn.stride_w[4], 64);
    CU_ASSERT_EQUAL(rpn.half_w[0][0], 23);
    CU_ASSERT_EQUAL(rpn.half_h[0][0], 11);
    CU_ASSERT_EQUAL(rpn.half_w[4][2], 181);
    CU_ASSERT_EQUAL(rpn.half_h[4][2], 362);
    CU_ASSERT_EQUAL(rpn.pre_nms, 2000);
    CU_ASSERT_PTR_NULL(detect_preset_find("none"));
}

/* torchvision's 256 anchors, half of them positive, and 512 regions, a quarter; or fewer in the
 * same shares. */
static void samples_keep_their_shares(void) {
    static const int sides[] = {8, 16, 32, 64, 128};
    struct detect_canvas canvas = {.height = 128, .width = 128, .anchors = sides, .training = true};
    const struct detect_preset *tv = detect_preset_find("tv");
    struct detect_attr rpn = detect_preset_rpn(tv, &canvas);
    struct detect_attr regions = detect_preset_regions(tv, &canvas);
    CU_ASSERT(rpn.samples == 256 && rpn.positives == 128);
    CU_ASSERT(regions.samples == 512 && regions.positives == 128);
    canvas.anchor_samples = 64;
    canvas.region_samples = 40;
    rpn = detect_preset_rpn(tv, &canvas);
    regions = detect_preset_regions(tv, &canvas);
    CU_ASSERT(rpn.samples == 64 && rpn.positives == 32);
    CU_ASSERT(regions.samples == 40 && regions.positives == 10);
}

static void refused(struct maskrcnn_config config, const char *words) {
    struct maskrcnn_tensors t;
    struct graph graph;
    struct error err = {0};
    CU_ASSERT_EQUAL(maskrcnn_build(&graph, &config, &t, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, words);
    graph_done(&graph);
}

static void what_cannot_be_is_refused_by_name(void) {
    const struct maskrcnn_config good = config_of("maskrcnn_tiny", true);
    struct maskrcnn_config bad = good;
    bad.model = "resnet50";
    refused(bad, "unknown model 'resnet50'; expected one of maskrcnn_resnet50_fpn, maskrcnn_tiny");
    bad = good;
    bad.preset = "mine";
    refused(bad, "unknown preset 'mine'; expected one of tv, d2, mlperf");
    bad = good;
    bad.region_samples = 3;
    refused(bad, "0 anchors and 3 regions sampled per picture are too few");
    bad = good;
    bad.canvas_h = 120;
    refused(bad, "a canvas of 120 x 160");
    bad = good;
    bad.canvas_w = 4128;
    refused(bad, "128 x 4128");
    bad = good;
    bad.classes = 0;
    refused(bad, "0 classes");
    bad = good;
    bad.objects = 0;
    refused(bad, "0 objects");
    bad = good;
    bad.polygons = 3;
    refused(bad, "3 polygons of 0 points");
    bad = good;
    bad.batch = 0;
    refused(bad, "a batch of 0");
    bad = good;
    bad.std[1] = 0;
    refused(bad, "deviation of 0");
}

UNIT_SUITE("models.maskrcnn", UNIT(names_and_shapes_are_torchvisions),
           UNIT(a_step_has_its_losses_and_an_evaluation_its_detections),
           UNIT(masks_may_come_from_outlines), UNIT(pixels_are_the_presets),
           UNIT(rules_of_a_model_go_before_the_presets), UNIT(rows_of_masks_are_counted),
           UNIT(levels_are_those_of_the_canvas), UNIT(samples_keep_their_shares),
           UNIT(what_cannot_be_is_refused_by_name))
