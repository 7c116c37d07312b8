#include "trainer/models/maskrcnn.h"

#include "common/table.h"
#include "trainer/graph/build/build.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/mask_target.h"
#include "trainer/math/sample_key.h"
#include "trainer/models/detector.h"

#include <stdio.h>
#include <string.h>

/* This file checks the configuration, declares the inputs and calls the parts in the order of
 * the data: resize, body (backbone.c), pyramid (fpn.c), proposals (rpn.c) and heads
 * (roi_heads.c). The parts share a struct detector, which lives only while the graph is
 * described.
 *
 * A graph is for training or for evaluation, never for both. Training samples regions and ends
 * in the losses; evaluation selects detections and computes their masks. Parameters have the
 * same names in both, so that weights go from one to the other. */

/* The rows of a backbone are: name, bottleneck, cifar, channels, widening, groups, blocks of
 * each stage. The small network keeps four stages and five levels, so that it runs through the
 * same operators as the published one. */
static const struct detector_family families[] = {
    {.name = "maskrcnn_resnet50_fpn",
     .backbone = {"resnet50", true, false, 64, 1, 1, {3, 4, 6, 3}},
     .pyramid = 256,
     .anchors = {32, 64, 128, 256, 512},
     .hidden = 1024,
     .mask_convs = 4},
    {.name = "maskrcnn_tiny",
     .backbone = {"tiny", true, false, 16, 1, 1, {1, 1, 1, 1}},
     .pyramid = 64,
     .anchors = {8, 16, 32, 64, 128},
     .hidden = 128,
     .mask_convs = 2},
};
/* The ceilings bound the canvas and the number of classes before shapes are computed from them. */
enum { FAMILIES = sizeof(families) / sizeof(families[0]), CANVAS_MAX = 4096, CLASSES_MAX = 10000 };

static const struct detector_family *find_family(const char *model) {
    return TABLE_FIND(families, name, model);
}

bool maskrcnn_known(const char *model) {
    return find_family(model) != NULL;
}

/* "maskrcnn_resnet50_fpn, maskrcnn_tiny". */
static void list_families(char *text, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < FAMILIES && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", families[i].name);
}

/* The coarsest stage of the body has a stride of 32 pixels. A side that is a multiple of it
 * divides evenly at every level of the pyramid up to P5. */
static bool is_canvas(int side) {
    return side >= MASKRCNN_CANVAS_STEP && side <= CANVAS_MAX && side % MASKRCNN_CANVAS_STEP == 0;
}

/* Returns -1 with EXIT_CODE_USAGE for the first value that the graph could not be built from. It
 * runs before anything is added to the graph.
 *
 * Of sampled anchors half may be positive, and of sampled regions a quarter (detect_preset.c).
 * The least numbers accepted leave room for at least one positive sample. NaN as a standard
 * deviation fails as well, since the comparison is negated. */
static int check(const struct maskrcnn_config *config, struct error *err) {
    char known[128];
    list_families(known, sizeof(known));
    if (!maskrcnn_known(config->model))
        return error_set(err, EXIT_CODE_USAGE, "unknown model '%s'; expected one of %s",
                         config->model, known);
    if (detect_preset_find(config->preset) == NULL)
        return error_set(err, EXIT_CODE_USAGE, "unknown preset '%s'; expected one of %s",
                         config->preset, detect_preset_names());
    if (!is_canvas(config->canvas_h) || !is_canvas(config->canvas_w))
        return error_set(err, EXIT_CODE_USAGE,
                         "a canvas of %d x %d: both sides must be multiples of %d up to %d",
                         config->canvas_h, config->canvas_w, MASKRCNN_CANVAS_STEP, CANVAS_MAX);
    if (config->classes < 1 || config->classes > CLASSES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d classes: expected 1 to %d", config->classes,
                         CLASSES_MAX);
    if (config->batch < 1 || config->image_bytes < 1)
        return error_set(err, EXIT_CODE_USAGE, "a batch of %d images: expected at least 1",
                         config->batch);
    if (config->training && (config->objects < 1 || config->mask_bytes < 1))
        return error_set(err, EXIT_CODE_USAGE, "%d objects per picture: expected at least 1",
                         config->objects);
    if (config->polygons < 0 || config->points < 0 ||
        (config->polygons > 0) != (config->points > 0))
        return error_set(err, EXIT_CODE_USAGE,
                         "%d polygons of %d points: expected both above 0, or neither",
                         config->polygons, config->points);
    if (config->anchor_samples < 0 || config->region_samples < 0 || config->anchor_samples == 1 ||
        (config->region_samples > 0 && config->region_samples < 4))
        return error_set(err, EXIT_CODE_USAGE,
                         "%d anchors and %d regions sampled per picture are too few",
                         config->anchor_samples, config->region_samples);
    for (int i = 0; i < 3; i++)
        if (!(config->std[i] > 0))
            return error_set(err, EXIT_CODE_USAGE,
                             "a standard deviation of %g: expected more than 0",
                             (double)config->std[i]);
    return 0;
}

/* Declares the inputs under the names of the batch fields that fill them (data/dataset/batch.h).
 * Evaluation has the picture and its size alone.
 *
 * Masks lie in one buffer for the batch, since their sizes differ; gt_mask_at says where
 * each one is. Outlines are declared only where the configuration has slots for them, and stay
 * TENSOR_NONE otherwise. */
static void add_inputs(const struct detector *d) {
    const struct maskrcnn_config *c = d->config;
    struct maskrcnn_tensors *t = d->t;
    const int64_t n = c->batch, g = c->objects;
    t->image = graph_input(d->graph, "image", DTYPE_U8, shape_2(n, c->image_bytes));
    t->image_size = graph_input(d->graph, "image_size", DTYPE_I32, shape_2(n, IMAGE_SIZE_FIELDS));
    if (!c->training)
        return;
    t->gt_box = graph_input(d->graph, "gt_box", DTYPE_F32, shape_3(n, g, 4));
    t->gt_label = graph_input(d->graph, "gt_label", DTYPE_I32, shape_2(n, g));
    t->gt_count = graph_input(d->graph, "gt_count", DTYPE_I32, shape_1(n));
    t->gt_mask_at = graph_input(d->graph, "gt_mask_at", DTYPE_I32, shape_3(n, g, MASK_FIELDS));
    t->mask_bits = graph_input(d->graph, "mask_bits", DTYPE_U8, shape_1(c->mask_bytes));
    t->key = graph_input(d->graph, "key", DTYPE_I32, shape_2(n, SAMPLE_KEY_WORDS));
    if (c->polygons == 0)
        return;
    t->gt_parts = graph_input(d->graph, "gt_parts", DTYPE_I32, shape_3(n, g, MASK_PART_FIELDS));
    t->polygon =
        graph_input(d->graph, "polygon", DTYPE_I32, shape_2(n * c->polygons, MASK_PART_FIELDS));
    t->point = graph_input(d->graph, "point", DTYPE_F32, shape_2(n * c->points, 2));
}

/* Places the pictures on the canvas, scaled and normalized. If a preset has its own mean and
 * deviation, they take the place of the caller's. */
static int resize(const struct detector *d) {
    struct op_attr attr = {.detect = d->regions,
                           .channels =
                               d->config->stem_channels == 0 ? 3 : d->config->stem_channels};
    const int inputs[IMAGE_RESIZE_INPUTS] = {d->t->image, d->t->image_size};
    int outputs[OP_OUTPUTS_MAX];
    bool own = d->preset->std[0] > 0;
    memcpy(attr.mean, own ? d->preset->mean : d->config->mean, sizeof(attr.mean));
    memcpy(attr.std, own ? d->preset->std : d->config->std, sizeof(attr.std));
    detector_op(d, OP_IMAGE_RESIZE, "resize", inputs, &attr, outputs);
    return outputs[IMAGE_RESIZE_Y];
}

/* Builds the graph in the order of its operators. Nothing is checked in between: the builder
 * keeps the first error, and graph_finish reports it. */
static void describe(struct detector *d) {
    const struct maskrcnn_config *c = d->config;
    const struct detect_preset *preset = d->preset;
    const struct backbone backbone = {.family = &d->family->backbone,
                                      .prefix = "backbone.body.",
                                      .epsilon = preset->rules.value[RULE_NORM_EPSILON],
                                      .stride_first = preset->stride_first,
                                      .frozen_norms = c->frozen_norms,
                                      .frozen_stages = c->frozen_stages};
    int stages[BACKBONE_STAGES];
    add_inputs(d);
    backbone_build(d->graph, &backbone, resize(d), stages);
    detector_pyramid(d, stages);
    const struct detector_proposals proposals = detector_rpn(d);
    if (c->training)
        detector_learn(d, &proposals);
    else
        detector_find(d, &proposals);
}

/* One TENSOR_NONE for each member: 0 is a valid number of a tensor, so a zeroed struct would not
 * do. */
static const struct maskrcnn_tensors no_tensors = {
    TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE,
    TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE,
    TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE};

int maskrcnn_build(struct graph *graph, const struct maskrcnn_config *config,
                   struct maskrcnn_tensors *ret_tensors, struct error *err) {
    graph_init(graph, config->dtype, config->training);
    *ret_tensors = no_tensors;
    if (check(config, err) != 0)
        return -1;
    /* A copy, as the rules of a trained model replace those of the table's row. The pointers in
     * D to locals of this function are not used after it returns. */
    struct detect_preset preset = *detect_preset_find(config->preset);
    if (config->rules != NULL)
        preset.rules = *config->rules;
    struct detector d = {.graph = graph,
                         .family = find_family(config->model),
                         .preset = &preset,
                         .config = config,
                         .t = ret_tensors};
    const struct detect_canvas canvas = {.height = config->canvas_h,
                                         .width = config->canvas_w,
                                         .anchors = d.family->anchors,
                                         .objects = config->objects,
                                         .anchor_samples = config->anchor_samples,
                                         .region_samples = config->region_samples,
                                         .classes = config->classes,
                                         .training = config->training};
    d.rpn = detect_preset_rpn(&preset, &canvas);
    d.regions = detect_preset_regions(&preset, &canvas);
    describe(&d);
    if (graph_finish(graph, err) != 0)
        return error_wrap(err, "%s", config->model);
    return 0;
}
