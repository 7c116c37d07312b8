/* What the known trainings of Mask R-CNN do differently, as numbers and flags of the operators
 * (graph/op_detect.h): one row a training. "tv" is torchvision's maskrcnn_resnet50_fpn
 * (torchvision/models/detection: faster_rcnn.py, mask_rcnn.py, rpn.py, roi_heads.py). */
#ifndef MODELS_DETECT_PRESET_H
#define MODELS_DETECT_PRESET_H

#include "graph/op_detect.h"

#include <stdbool.h>

struct detect_preset {
    const char *name;
    unsigned flags;      /* enum detect_flag */
    double norm_epsilon; /* of the backbone's norms */
    bool rounded;        /* anchors: half sides in whole pixels */
    float anchor_offset;
    int pre_nms[2], post_nms[2]; /* of evaluation, of training */
    float proposal_nms, proposal_side;
    int anchor_samples, anchor_positives;
    float anchor_foreground, anchor_background;
    float anchor_beta;
    int region_samples, region_positives;
    float region_foreground, region_background;
    float region_beta;
    float region_coder[4];
    float level_epsilon;
    int sampling; /* points of a RoIAlign's bin along an axis */
    float detection_score, detection_nms, detection_side;
    int detections;
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
    bool training;
};

/* What the operators around the region proposal network are told, */
struct detect_attr detect_preset_rpn(const struct detect_preset *preset,
                                     const struct detect_canvas *canvas);
/* and those behind it; `pooled` is set by each head. */
struct detect_attr detect_preset_regions(const struct detect_preset *preset,
                                         const struct detect_canvas *canvas);

#endif
