#include "trainer/models/detect_preset.h"
#include "common/table.h"

#include <stddef.h>
#include <string.h>

/* A preset is turned into the attributes of operators in two steps: one struct for the operators
 * up to the proposals, one for those that follow. Both are plain values without pointers and are
 * copied into each operator.
 *
 * Members that a row leaves out are 0, which has a meaning of its own in several of them: a beta
 * of 0 makes the loss L1, a sampling of 0 lets the size of a bin decide, and a deviation of 0
 * takes the caller's mean. */

/* Values shared by all presets: the numbers of sampled anchors and regions, the IoUs of a match,
 * the box coding, and the proposals that training keeps before NMS; of the rules the lengths of
 * the lists and what is dropped from them. The epsilon of norms is apart: "mlperf" has
 * 0, since the frozen norms of maskrcnn-benchmark add none. */
#define COMMON_SAMPLES                                                                             \
    .anchor_samples = 256, .anchor_positives = 128, .anchor_foreground = 0.7F,                     \
    .anchor_background = 0.3F, .region_samples = 512, .region_positives = 128,                     \
    .region_foreground = 0.5F, .region_background = 0.5F, .region_coder = {10, 10, 5, 5},          \
    .pre_nms = 2000
#define COMMON_RULES_BUT_EPSILON                                                                   \
    [RULE_PRE_NMS] = 1000, [RULE_POST_NMS] = 1000, [RULE_PROPOSAL_NMS] = 0.7, [RULE_SCORE] = 0.05, \
    [RULE_NMS] = 0.5, [RULE_DETECTIONS] = 100
#define COMMON_RULES [RULE_NORM_EPSILON] = DETECT_NORM_EPSILON, COMMON_RULES_BUT_EPSILON

/* The means of "d2" and "mlperf" are in BGR from 0 to 255, as their flags have
 * DETECT_PIXELS_BGR, with a deviation of 1. "tv" has none and leaves both to the caller. */
static const struct detect_preset presets[] = {
    {
        .name = "tv",
        COMMON_SAMPLES,
        .rules = {{COMMON_RULES, [RULE_PROPOSAL_SIDE] = 1e-3, [RULE_SIDE] = 1e-2}},
        .anchors = ANCHOR_ROUNDED,
        .strides_fitted = true,
        .post_nms = 2000,
        .anchor_beta = 1.0F / 9,
        .region_beta = 1.0F / 9,
        .level_epsilon = 1e-6F,
        .sampling = 2,
    },
    {
        .name = "d2",
        .flags = DETECT_RPN_FIXED_COUNT | DETECT_SIDE_ABOVE | DETECT_ORDER_BY_LOGIT |
                 DETECT_ROI_ALIGNED | DETECT_LEVEL_INSIDE | DETECT_MASK_POLYGON | DETECT_PIXELS_BGR,
        COMMON_SAMPLES,
        .rules = {{COMMON_RULES}},
        .stride_first = true,
        .mean = {103.53F, 116.28F, 123.675F},
        .std = {1, 1, 1},
        .anchors = ANCHOR_EXACT,
        .post_nms = 1000,
        .level_epsilon = 1e-8F,
        .mask_side = 0.1F,
    },
    {
        .name = "mlperf",
        .flags = DETECT_PLUS_ONE | DETECT_ANCHORS_INSIDE | DETECT_TOP_OF_BATCH |
                 DETECT_LEVEL_INSIDE | DETECT_MASK_POLYGON | DETECT_PIXELS_BGR,
        COMMON_SAMPLES,
        .rules = {{COMMON_RULES_BUT_EPSILON}},
        .stride_first = true,
        .mean = {102.9801F, 115.9465F, 122.7717F},
        .std = {1, 1, 1},
        .anchors = ANCHOR_SCALED,
        .anchor_offset = 0.5F,
        .post_nms = 1000,
        .anchor_beta = 1.0F / 9,
        .region_beta = 1,
        .level_epsilon = 1e-6F,
        .sampling = 2,
        .mask_side = 1,
    },
};
/* Regions are pooled from the levels P2 to P5. P6 has anchors but no regions. */
enum { PRESETS = sizeof(presets) / sizeof(presets[0]), REGION_LEVELS = 4 };

const struct detect_preset *detect_preset_find(const char *name) {
    return TABLE_FIND(presets, name, name);
}

const char *detect_preset_names(void) {
    return "tv, d2, mlperf";
}

/* Sets the pyramid: levels with strides of 4, 8, ... pixels, and their anchors. */
static void set_levels(struct detect_attr *attr, const struct detect_preset *preset,
                       const struct detect_canvas *canvas, int levels) {
    attr->canvas_h = canvas->height;
    attr->canvas_w = canvas->width;
    attr->levels = levels;
    attr->anchor_offset = preset->anchor_offset;
    for (int i = 0; i < levels; i++) {
        const int cell = 4 << i;
        float sides[ANCHOR_SHAPES][4];
        attr->stride_h[i] = attr->stride_w[i] = cell;
        /* torchvision computes a stride as the canvas divided by the size of the map, in whole
         * pixels. That is less than the level's nominal stride where the map's side was rounded
         * up. */
        if (preset->strides_fitted) {
            attr->stride_h[i] = canvas->height / ((canvas->height + cell - 1) / cell);
            attr->stride_w[i] = canvas->width / ((canvas->width + cell - 1) / cell);
        }
        anchor_cell(canvas->anchors[i], cell, preset->anchors, sides);
        for (int shape = 0; shape < ANCHOR_SHAPES; shape++) {
            /* The shapes are centred on (0, 0), so their far corner holds half of each side. */
            attr->half_w[i][shape] = sides[shape][2];
            attr->half_h[i][shape] = sides[shape][3];
        }
    }
}

/* Evaluation uses each picture's own proposals, whatever else is in the batch: what is found in a
 * picture must not depend on its neighbours. */
static unsigned flags_of(const struct detect_preset *preset, const struct detect_canvas *canvas) {
    return preset->flags & (canvas->training ? ~0U : ~(unsigned)DETECT_TOP_OF_BATCH);
}

/* Uses OWN samples, or WANTED if given, with the same share of POSITIVES among them, rounded
 * down. */
static void set_samples(struct detect_attr *attr, int own, int positives, int wanted) {
    attr->samples = wanted > 0 ? wanted : own;
    attr->positives = attr->samples * positives / own;
}

static float rule_of(const struct detect_preset *preset, enum detect_rule rule) {
    return (float)preset->rules.value[rule];
}

/* Returns how many are kept before NMS (RULE_PRE_NMS) or after it (RULE_POST_NMS). */
static int kept(const struct detect_preset *preset, const struct detect_canvas *canvas,
                enum detect_rule rule) {
    if (!canvas->training)
        return (int)preset->rules.value[rule];
    return rule == RULE_PRE_NMS ? preset->pre_nms : preset->post_nms;
}

/* The box coding of anchors has weights of 1 in all presets; that of regions is the preset's. All
 * levels of the pyramid take part. */
struct detect_attr detect_preset_rpn(const struct detect_preset *preset,
                                     const struct detect_canvas *canvas) {
    struct detect_attr attr = {.flags = flags_of(preset, canvas),
                               .pre_nms = kept(preset, canvas, RULE_PRE_NMS),
                               .post_nms = kept(preset, canvas, RULE_POST_NMS),
                               .objects = canvas->objects,
                               .classes = canvas->classes,
                               .nms_threshold = rule_of(preset, RULE_PROPOSAL_NMS),
                               .foreground_iou = preset->anchor_foreground,
                               .background_iou = preset->anchor_background,
                               .min_side = rule_of(preset, RULE_PROPOSAL_SIDE),
                               .coder = {1, 1, 1, 1},
                               .beta = preset->anchor_beta};
    set_samples(&attr, preset->anchor_samples, preset->anchor_positives, canvas->anchor_samples);
    set_levels(&attr, preset, canvas, DETECT_LEVELS_MAX);
    return attr;
}

/* `pooled` stays 0 here: boxes and masks pool to different sides, so each head sets it in its
 * own copy. */
struct detect_attr detect_preset_regions(const struct detect_preset *preset,
                                         const struct detect_canvas *canvas) {
    struct detect_attr attr = {.flags = flags_of(preset, canvas),
                               .post_nms = kept(preset, canvas, RULE_POST_NMS),
                               .objects = canvas->objects,
                               .detections = (int)preset->rules.value[RULE_DETECTIONS],
                               .classes = canvas->classes,
                               .sampling = preset->sampling,
                               .nms_threshold = rule_of(preset, RULE_NMS),
                               .foreground_iou = preset->region_foreground,
                               .background_iou = preset->region_background,
                               .score_threshold = rule_of(preset, RULE_SCORE),
                               .min_side = rule_of(preset, RULE_SIDE),
                               .beta = preset->region_beta,
                               .level_epsilon = preset->level_epsilon};
    memcpy(attr.coder, preset->region_coder, sizeof(attr.coder));
    set_samples(&attr, preset->region_samples, preset->region_positives, canvas->region_samples);
    set_levels(&attr, preset, canvas, REGION_LEVELS);
    return attr;
}
