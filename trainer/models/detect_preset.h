/* Differences between the known trainings of Mask R-CNN. They are numbers and flags of the
 * operators (graph/op_detect.h), one row for each training.
 *
 *   tv      torchvision's maskrcnn_resnet50_fpn (torchvision/models/detection: faster_rcnn.py,
 *           mask_rcnn.py, rpn.py, roi_heads.py)
 *   d2      detectron2's mask_rcnn_R_50_FPN (configs/Base-RCNN-FPN.yaml, config/defaults.py)
 *   mlperf  MLPerf's reference, from maskrcnn-benchmark (configs/e2e_mask_rcnn_R_50_FPN_1x.yaml),
 *           with proposals selected over the whole batch as in NVIDIA's submissions. A level's
 *           candidates are ranked by logits, not by probabilities as there: of probabilities that
 *           are equal in f32 the one with the larger logit comes first, not an arbitrary one
 *
 * All of them train torchvision's graph: in files the background is class 0 and weights have
 * torchvision's names. Files with detectron2's names, with the background as the last class, or
 * with maskrcnn-benchmark's are neither read nor written. */
#ifndef TRAINER_MODELS_DETECT_PRESET_H
#define TRAINER_MODELS_DETECT_PRESET_H

#include "trainer/graph/op_detect.h"
#include "trainer/math/anchor.h"
#include "trainer/models/detect_rules.h"

#include <stdbool.h>

struct detect_preset {
    const char *name;
    unsigned flags;            /* enum detect_flag */
    struct detect_rules rules; /* part that a trained model keeps */
    bool stride_first;         /* of bottlenecks: models/backbone.h */
    /* Of pixels, in the order and range of DETECT_PIXELS_BGR; std[0] 0: use the caller's. */
    float mean[3], std[3];
    enum anchor_rule anchors;
    bool strides_fitted; /* strides fitted to the canvas, else 4, 8, 16, ... pixels */
    float anchor_offset;
    int pre_nms, post_nms; /* of training; evaluation uses RULE_PRE_NMS and RULE_POST_NMS */
    int anchor_samples, anchor_positives;
    float anchor_foreground, anchor_background;
    float anchor_beta;
    int region_samples, region_positives;
    float region_foreground, region_background;
    float region_beta;
    float region_coder[4];
    float level_epsilon;
    int sampling;    /* sampling points of a RoIAlign bin along each axis */
    float mask_side; /* least side of a region when outlines are rasterized on it */
};

/* Returns NULL if there is none with that name. */
const struct detect_preset *detect_preset_find(const char *name);
/* Returns "tv, ..." for messages and help. */
const char *detect_preset_names(void);

/* A canvas, and the sizes that the model adds. */
struct detect_canvas {
    int height, width;  /* pixels */
    const int *anchors; /* sides of the square anchors, one for each of DETECT_LEVELS_MAX levels */
    int objects;        /* slots per picture */
    int classes;        /* without the background */
    int anchor_samples; /* instead of the preset's, with the same share of positives; 0: the
                         * preset's */
    int region_samples;
    bool training;
};

/* Returns the attributes of the operators around the region proposal network, */
struct detect_attr detect_preset_rpn(const struct detect_preset *preset,
                                     const struct detect_canvas *canvas);
/* and of those after it; each head sets `pooled`. */
struct detect_attr detect_preset_regions(const struct detect_preset *preset,
                                         const struct detect_canvas *canvas);

#endif
