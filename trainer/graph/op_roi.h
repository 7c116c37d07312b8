/* The operators behind the proposals (He et al., "Mask R-CNN", 2017) and their slots: what regions
 * are taught, how they are read from the feature maps, losses, detections. N pictures, G slots for
 * objects, K proposals, S = samples, R rows of a head: S of each picture, or M = positives * N
 * where masks are concerned. L levels, the first of `levels`, of at most ROI_LEVELS_MAX. Pictures'
 * sizes are math/image_size.h, masks math/mask_bits.h. Labels: 0 is the background, from 1 on
 * classes, -1 an empty slot.
 *
 * What is chosen is the same on every backend, bit for bit, and nothing flows through it. */
#ifndef TRAINER_GRAPH_OP_ROI_H
#define TRAINER_GRAPH_OP_ROI_H

#include "trainer/graph/op_detect.h"

enum { ROI_LEVELS_MAX = 4 };

/* Pictures at the size they are used in. Pixel (i, j) of the h x w of the resized picture is the
 * bilinear value (math/bilinear.h) of the normalised source, (u8 / 255 - mean) / std
 * (DETECT_PIXELS_BGR: blue first, u8 - mean); the rest of the canvas is 0. */
enum image_resize_slot {
    IMAGE_RESIZE_IMAGE, /* u8 [N, bytes]: in each row a picture */
    IMAGE_RESIZE_SIZE,  /* i32 [N, 6] */
    IMAGE_RESIZE_INPUTS,

    IMAGE_RESIZE_Y = 0, /* [N, canvas_h, canvas_w, attr.channels]; channels beyond 3 are 0 */
    IMAGE_RESIZE_OUTPUTS
};

/* Which regions the heads learn from. Candidates are the proposals, then the objects. One whose
 * overlap with its best object (the lowest number of several) is foreground_iou or more has that
 * object's label, below background_iou it is background, others are ignored. At most `positives`
 * with an object are sampled, and background up to S in all: those with the smallest keys
 * (math/sample_key.h) of their number among the candidates. A picture that is not valid has
 * neither: OP_RPN_BOXES leaves it no proposals, its batch no objects. */
enum roi_targets_slot {
    ROI_TARGETS_BOX,   /* f32 [N, K, 4] */
    ROI_TARGETS_COUNT, /* i32 [N]: of proposals */
    ROI_TARGETS_GT_BOX,
    ROI_TARGETS_GT_LABEL, /* i32 [N, G]: 1 .. classes */
    ROI_TARGETS_GT_COUNT, /* i32 [N] */
    ROI_TARGETS_KEY,      /* i32 [N, 4]: enum sample_key_word */
    ROI_TARGETS_INPUTS,

    /* Those with objects by rising number, then background by rising number, then empty slots,
     * which are 0 but for label and match. */
    ROI_TARGETS_ROI = 0, /* f32 [N, S, 4] */
    ROI_TARGETS_LABEL,   /* i32 [N, S] */
    ROI_TARGETS_MATCH,   /* i32 [N, S]: the object, -1 without one */
    ROI_TARGETS_TARGET,  /* f32 [N, S, 4]: the object's code from the region; 0 without one */
    ROI_TARGETS_OUTPUTS
};

/* RoIAlign: `pooled` bins an axis, each the mean of its samples (math/roi_axis.h), from the map
 * that math/roi_level.h says. Row r of y is of
 * region r, or of region ROW[r] where that is given; it is 0 where LABEL or ROW is below 0. At most
 * one of the two is given. */
enum roi_align_slot {
    ROI_ALIGN_MAP, /* and the levels behind it: [N, rows, columns, C] (detect_grid.h) */
    ROI_ALIGN_ROI = ROI_ALIGN_MAP + ROI_LEVELS_MAX, /* f32 [N, S, 4] */
    ROI_ALIGN_LABEL,                                /* i32 [N, S] or none; or */
    ROI_ALIGN_ROW,                                  /* i32 [R]: picture * S + slot */
    ROI_ALIGN_INPUTS,

    ROI_ALIGN_Y = 0, /* [R, pooled, pooled, C] */
    ROI_ALIGN_OUTPUTS
};

enum roi_align_grad_slot {
    ROI_ALIGN_GRAD_DY,
    ROI_ALIGN_GRAD_ROI, /* as above */
    ROI_ALIGN_GRAD_LABEL,
    ROI_ALIGN_GRAD_ROW,
    ROI_ALIGN_GRAD_BEFORE, /* what others have sent to the maps: added; or TENSOR_NONE. Levels as */
    ROI_ALIGN_GRAD_INPUTS = ROI_ALIGN_GRAD_BEFORE + ROI_LEVELS_MAX, /* of DMAP */

    ROI_ALIGN_GRAD_DMAP = 0, /* and the levels behind it */
    ROI_ALIGN_GRAD_OUTPUTS = ROI_ALIGN_GRAD_DMAP + ROI_LEVELS_MAX
};

/* Means over the R' rows whose label is not -1: softmax cross entropy of the logits; smooth L1 with
 * width `beta` of the four deltas of the label's class, summed, of rows with an object. */
enum box_loss_slot {
    BOX_LOSS_LOGITS, /* wide [R, classes + 1] */
    BOX_LOSS_DELTAS, /* wide [R, 4 * (classes + 1)] */
    BOX_LOSS_LABEL,  /* i32 [N, S], N * S = R */
    BOX_LOSS_TARGET, /* f32 [N, S, 4] */
    BOX_LOSS_INPUTS,

    BOX_LOSS_VALUES = 0, /* wide [BOX_LOSSES] */
    BOX_LOSS_OUTPUTS,

    /* Of the gradient, which reads the same: in the activation type. */
    BOX_LOSS_GRAD_DLOGITS = 0,
    BOX_LOSS_GRAD_DDELTAS,
    BOX_LOSS_GRAD_OUTPUTS
};
/* ACCURACY: the share of the rows whose label has the greatest logit, of equal ones the first. */
enum box_loss {
    BOX_LOSS_CLASSIFIER,
    BOX_LOSS_BOX_REG,
    BOX_LOSS_ACCURACY,
    BOX_LOSS_POSITIVES, /* rows with an object, */
    BOX_LOSS_SAMPLED,   /* and R' */
    BOX_LOSSES
};

/* The rows of the mask head: all regions of the batch whose object has a mask, in order, at the
 * front of M. */
enum mask_rows_slot {
    MASK_ROWS_LABEL, /* i32 [N, S]: of ROI_TARGETS */
    MASK_ROWS_MATCH, /* i32 [N, S] */
    MASK_ROWS_AT,    /* i32 [N, G, MASK_FIELDS]: where masks lie */
    MASK_ROWS_INPUTS,

    MASK_ROWS_ROW = 0,    /* i32 [M]: picture * S + slot; -1 behind the last one */
    MASK_ROWS_MASK_LABEL, /* i32 [M]; 0 behind the last one */
    MASK_ROWS_COUNT,      /* i32 [1] */
    MASK_ROWS_OUTPUTS
};

/* What a mask should be: RoIAlign with one bin a pixel of the head's and as many samples as pixels,
 * of the object's mask as it is in the resized picture (nearest pixel, mirrored with it). With
 * DETECT_MASK_POLYGON it is 0 or 1: where an object has an outline (math/mask_target.h), that is
 * drawn on the region's grid, sides of `min_side` at least; else samples are aligned, and from
 * half on it is 1. */
enum mask_targets_slot {
    MASK_TARGETS_ROI,   /* f32 [N, S, 4] */
    MASK_TARGETS_MATCH, /* i32 [N, S] */
    MASK_TARGETS_ROW,   /* i32 [M] */
    MASK_TARGETS_AT,    /* i32 [N, G, MASK_FIELDS] */
    MASK_TARGETS_BITS,  /* u8 [bytes]: the pool */
    MASK_TARGETS_SIZE,  /* i32 [N, 6] */
    /* All three, or none: no object has an outline. */
    MASK_TARGETS_PARTS, /* i32 [N, G, 2]: an object's first polygon, and how many it has */
    MASK_TARGETS_PART,  /* i32 [polygons, 2]: a polygon's first point, and how many it has */
    MASK_TARGETS_POINT, /* f32 [points, 2]: x, y in pixels of the resized picture */
    MASK_TARGETS_INPUTS,

    MASK_TARGETS_T = 0, /* f32 [M, pooled, pooled]; 0 where ROW is below 0 */
    MASK_TARGETS_OUTPUTS
};

/* The one channel of a 1x1 convolution that is wanted of each row: y[r] = x[r] . w[label] +
 * b[label]; 0 where the label is below 1. */
enum class_conv_slot {
    CLASS_CONV_X,     /* [M, P, P, C] */
    CLASS_CONV_W,     /* wide [K, C] or [K, 1, 1, C] */
    CLASS_CONV_B,     /* wide [K] */
    CLASS_CONV_LABEL, /* i32, M of them: 0 .. K - 1, or -1 */
    CLASS_CONV_INPUTS,

    CLASS_CONV_Y = 0, /* wide [M, P, P] */
    CLASS_CONV_OUTPUTS
};
/* dx has attr.target's shape, and is 0 in rows whose label is below 1. */
enum class_conv_grad_data_slot {
    CLASS_CONV_GRAD_DATA_DY, /* [M, P, P], in the activation type */
    CLASS_CONV_GRAD_DATA_W,
    CLASS_CONV_GRAD_DATA_LABEL,
    CLASS_CONV_GRAD_DATA_INPUTS
};
/* dw has attr.target's shape; classes without a row have 0. */
enum class_conv_grad_weight_slot {
    CLASS_CONV_GRAD_WEIGHT_DY,
    CLASS_CONV_GRAD_WEIGHT_X,
    CLASS_CONV_GRAD_WEIGHT_LABEL,
    CLASS_CONV_GRAD_WEIGHT_INPUTS,

    CLASS_CONV_GRAD_WEIGHT_DW = 0,
    CLASS_CONV_GRAD_WEIGHT_DB,
    CLASS_CONV_GRAD_WEIGHT_OUTPUTS
};

/* Binary cross entropy, the mean over all values of the first ROWS rows; 0 where there are none. */
enum mask_loss_slot {
    MASK_LOSS_LOGITS, /* wide [M, P, P] */
    MASK_LOSS_T,      /* f32 [M, P, P]: 0 .. 1 */
    MASK_LOSS_ROWS,   /* i32 [1] */
    MASK_LOSS_INPUTS,

    MASK_LOSS_VALUE = 0, /* wide [1] */
    /* Of the gradient, which reads the same: in the activation type, 0 behind the rows. */
    MASK_LOSS_GRAD_DLOGITS = 0
};

/* What is found in a picture: of every proposal and class but the background the softmax's
 * probability, where it is above score_threshold, and the decoded box (weights `coder`), clipped to
 * the resized picture, where its sides are min_side or more; of these, class by class, those that
 * non-maximum suppression at nms_threshold leaves; of these the best D = detections. By falling
 * probability, of equal ones the lower proposal, then the lower class. Empty slots are 0, and their
 * label is -1. */
enum detections_slot {
    DETECTIONS_LOGITS, /* wide [N * K, classes + 1] */
    DETECTIONS_DELTAS, /* wide [N * K, 4 * (classes + 1)] */
    DETECTIONS_BOX,    /* f32 [N, K, 4]: the proposals */
    DETECTIONS_COUNT,  /* i32 [N] */
    DETECTIONS_SIZE,   /* i32 [N, 6] */
    DETECTIONS_INPUTS,

    DETECTIONS_FOUND_BOX = 0, /* f32 [N, D, 4] */
    DETECTIONS_FOUND_SCORE,   /* f32 [N, D] */
    DETECTIONS_FOUND_LABEL,   /* i32 [N, D] */
    DETECTIONS_FOUND_COUNT,   /* i32 [N] */
    DETECTIONS_OUTPUTS
};

/* A training step's numbers. Losses have weight 1; times the number of pictures, so that sums over
 * batches and ranks, divided by DETECT_IMAGES, are means over pictures. */
enum total_loss_slot {
    TOTAL_LOSS_RPN,  /* wide [RPN_LOSSES] */
    TOTAL_LOSS_BOX,  /* wide [BOX_LOSSES] */
    TOTAL_LOSS_MASK, /* wide [1] */
    TOTAL_LOSS_SIZE, /* i32 [N, 6] */
    TOTAL_LOSS_INPUTS,

    TOTAL_LOSS_METRICS = 0, /* wide [DETECT_METRICS] */
    TOTAL_LOSS_OUTPUTS
};
enum detect_metric {
    DETECT_LOSS,   /* the sum of the five */
    DETECT_IMAGES, /* pictures that are valid */
    DETECT_LOSS_CLASSIFIER,
    DETECT_LOSS_BOX_REG,
    DETECT_LOSS_MASK,
    DETECT_LOSS_OBJECTNESS,
    DETECT_LOSS_RPN_BOX_REG,
    DETECT_ACCURACY,      /* of labels; times pictures as well */
    DETECT_POSITIVES,     /* regions with an object, */
    DETECT_RPN_POSITIVES, /* and anchors */
    DETECT_METRICS
};

#endif
