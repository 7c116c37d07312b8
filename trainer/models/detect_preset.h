/* What the known trainings of Mask R-CNN do differently, as numbers and flags of the operators
 * (graph/op_detect.h): one row a training.
 *
 *   tv      torchvision's maskrcnn_resnet50_fpn (torchvision/models/detection: faster_rcnn.py,
 *           mask_rcnn.py, rpn.py, roi_heads.py)
 *   d2      detectron2's mask_rcnn_R_50_FPN (configs/Base-RCNN-FPN.yaml, config/defaults.py)
 *   mlperf  MLPerf's reference, from maskrcnn-benchmark (configs/e2e_mask_rcnn_R_50_FPN_1x.yaml),
 *           proposals of a step chosen together as NVIDIA's submissions have it. Candidates of a
 *           level are taken by logits, not by probabilities as there: where those are equal in
 *           f32, the surer logit comes first and not any
 *
 * What is trained is torchvision's graph in all of them: in files the background is class 0 and
 * weights have its names. Files with detectron2's names, whose background is the last class, or
 * maskrcnn-benchmark's are neither read nor written. */
#ifndef TRAINER_MODELS_DETECT_PRESET_H
#define TRAINER_MODELS_DETECT_PRESET_H

#include "trainer/graph/op_detect.h"
#include "trainer/math/anchor.h"
#include "trainer/models/detect_rules.h"

#include <stdbool.h>

struct detect_preset {
    const char *name;
    unsigned flags;            /* enum detect_flag */
    struct detect_rules rules; /* what a trained model keeps of it */
    bool stride_first;         /* of bottlenecks: models/backbone.h */
    /* Of pixels, in the order and range of DETECT_PIXELS_BGR; std[0] 0: the caller's. */
    float mean[3], std[3];
    enum anchor_rule anchors;
    bool strides_fitted; /* cells as wide as fits the canvas, else 4, 8, 16, ... pixels */
    float anchor_offset;
    int pre_nms, post_nms; /* of training; else RULE_PRE_NMS and RULE_POST_NMS */
    int anchor_samples, anchor_positives;
    float anchor_foreground, anchor_background;
    float anchor_beta;
    int region_samples, region_positives;
    float region_foreground, region_background;
    float region_beta;
    float region_coder[4];
    float level_epsilon;
    int sampling;    /* points of a RoIAlign's bin along an axis */
    float mask_side; /* regions count as so long at least when outlines are drawn on them */
};

/* NULL: there is none of that name. */
const struct detect_preset *detect_preset_find(const char *name);
/* "tv, ..." for messages and help. */
const char *detect_preset_names(void);

/* The canvas, and which of its sizes the model adds. */
struct detect_canvas {
    int height, width;  /* pixels */
    const int *anchors; /* sides of the square anchor of each level, DETECT_LEVELS_MAX of them */
    int objects;        /* slots a picture */
    int classes;        /* without the background */
    int anchor_samples; /* in the place of the preset's, with the same share of positives; 0: its */
    int region_samples;
    bool training;
};

/* What the operators around the region proposal network are told, */
struct detect_attr detect_preset_rpn(const struct detect_preset *preset,
                                     const struct detect_canvas *canvas);
/* and those behind it; `pooled` is set by each head. */
struct detect_attr detect_preset_regions(const struct detect_preset *preset,
                                         const struct detect_canvas *canvas);

#endif
