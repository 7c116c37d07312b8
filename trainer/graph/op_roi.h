/* Operators after a detector's proposals, and their slots.
 *
 * They are targets of regions, RoIAlign, losses and detections (He et al., "Mask R-CNN", 2017). N
 * pictures, G slots for objects, K proposals, S = samples, R rows of a head: S of each picture, or
 * M = positives * N for masks. L levels, the first of `levels`, of at most ROI_LEVELS_MAX. Sizes of
 * pictures are defined in math/image_size.h, masks in math/mask_bits.h. Labels: 0 is the
 * background, classes start at 1, -1 is an empty slot.
 *
 * Selections are the same on every backend, bit for bit, and have no gradient. */
#ifndef TRAINER_GRAPH_OP_ROI_H
#define TRAINER_GRAPH_OP_ROI_H

#include "trainer/graph/op_detect.h"

enum { ROI_LEVELS_MAX = 4 };

/* Resizing of the pictures. Pixel (i, j) of the h x w of the resized picture is the bilinear value
 * (math/bilinear.h) of the normalized source, (u8 / 255 - mean) / std (DETECT_PIXELS_BGR: in BGR
 * order, u8 - mean); the rest of the canvas is 0. */
enum image_resize_slot {
    IMAGE_RESIZE_IMAGE, /* u8 [N, bytes]: a picture in each row */
    IMAGE_RESIZE_SIZE,  /* i32 [N, 6] */
    IMAGE_RESIZE_INPUTS,

    IMAGE_RESIZE_Y = 0, /* [N, canvas_h, canvas_w, attr.channels]; channels beyond 3 are 0 */
    IMAGE_RESIZE_OUTPUTS
};

/* Sampling of the regions on which the heads are trained. Candidates are the proposals, then the
 * objects. A candidate is matched with the object of largest overlap (of several, the one with the
 * lowest number): from foreground_iou on it has that object's label, below background_iou it is
 * background, others are ignored. At most `positives` matched candidates are sampled, and
 * background up to S in all: those with the smallest keys (math/sample_key.h). An invalid picture
 * has no samples: OP_RPN_BOXES gives it no proposals, its batch no objects. */
enum roi_targets_slot {
    ROI_TARGETS_BOX,   /* f32 [N, K, 4] */
    ROI_TARGETS_COUNT, /* i32 [N]: number of proposals */
    ROI_TARGETS_GT_BOX,
    ROI_TARGETS_GT_LABEL, /* i32 [N, G]: 1 .. classes */
    ROI_TARGETS_GT_COUNT, /* i32 [N] */
    ROI_TARGETS_KEY,      /* i32 [N, 4]: enum sample_key_word */
    ROI_TARGETS_INPUTS,

    /* Matched regions by ascending number, then background by ascending number, then empty slots,
     * which are 0 except for label and match. */
    ROI_TARGETS_ROI = 0, /* f32 [N, S, 4] */
    ROI_TARGETS_LABEL,   /* i32 [N, S] */
    ROI_TARGETS_MATCH,   /* i32 [N, S]: number of the object, -1 without one */
    ROI_TARGETS_TARGET,  /* f32 [N, S, 4]: the object encoded relative to the region; 0 without
                          * one */
    ROI_TARGETS_OUTPUTS
};

/* RoIAlign: `pooled` bins on each axis, each the mean of its samples (math/roi_axis.h), from the
 * map chosen by math/roi_level.h. Row r of y belongs to region r, or to region ROW[r] if that is
 * given; it is 0 if LABEL or ROW is below 0. At most one of the two is given. */
enum roi_align_slot {
    ROI_ALIGN_MAP, /* and the levels after it: [N, rows, columns, C] (detect_grid.h) */
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
    ROI_ALIGN_GRAD_BEFORE, /* gradients of the maps from other readers, to be added; or
                            * TENSOR_NONE. Levels as */
    ROI_ALIGN_GRAD_INPUTS = ROI_ALIGN_GRAD_BEFORE + ROI_LEVELS_MAX, /* of DMAP */

    ROI_ALIGN_GRAD_DMAP = 0, /* and the levels after it */
    ROI_ALIGN_GRAD_OUTPUTS = ROI_ALIGN_GRAD_DMAP + ROI_LEVELS_MAX
};

/* Means over the R' rows with a label other than -1: softmax cross entropy of the logits; smooth L1
 * with width `beta` of the four deltas of the label's class, summed over the rows with an
 * object. */
enum box_loss_slot {
    BOX_LOSS_LOGITS, /* wide [R, classes + 1] */
    BOX_LOSS_DELTAS, /* wide [R, 4 * (classes + 1)] */
    BOX_LOSS_LABEL,  /* i32 [N, S], N * S = R */
    BOX_LOSS_TARGET, /* f32 [N, S, 4] */
    BOX_LOSS_INPUTS,

    BOX_LOSS_VALUES = 0, /* wide [BOX_LOSSES] */
    BOX_LOSS_OUTPUTS,

    /* Outputs of the gradient, which has the same inputs: in the activation type. */
    BOX_LOSS_GRAD_DLOGITS = 0,
    BOX_LOSS_GRAD_DDELTAS,
    BOX_LOSS_GRAD_OUTPUTS
};
/* ACCURACY: the share of rows with the greatest logit at their label, of equal ones the first. */
enum box_loss {
    BOX_LOSS_CLASSIFIER,
    BOX_LOSS_BOX_REG,
    BOX_LOSS_ACCURACY,
    BOX_LOSS_POSITIVES, /* number of rows with an object, */
    BOX_LOSS_SAMPLED,   /* and R' */
    BOX_LOSSES
};

/* Rows of the mask head: all regions of the batch with an object that has a mask, in order, at the
 * beginning of M. */
enum mask_rows_slot {
    MASK_ROWS_LABEL, /* i32 [N, S]: of ROI_TARGETS */
    MASK_ROWS_MATCH, /* i32 [N, S] */
    MASK_ROWS_AT,    /* i32 [N, G, MASK_FIELDS]: locations of the masks */
    MASK_ROWS_INPUTS,

    MASK_ROWS_ROW = 0,    /* i32 [M]: picture * S + slot; -1 after the last one */
    MASK_ROWS_MASK_LABEL, /* i32 [M]; 0 after the last one */
    MASK_ROWS_COUNT,      /* i32 [1] */
    MASK_ROWS_OUTPUTS
};

/* Targets of the mask head: RoIAlign of the object's mask in the resized picture (nearest
 * neighbour, mirrored with it), with one bin per output pixel and as many samples as pixels. With
 * DETECT_MASK_POLYGON the target is 0 or 1: if an object has an outline (math/mask_target.h), it
 * is rasterized on the region's grid, with sides of at least `min_side`; else samples are aligned,
 * and means from one half on become 1. */
enum mask_targets_slot {
    MASK_TARGETS_ROI,   /* f32 [N, S, 4] */
    MASK_TARGETS_MATCH, /* i32 [N, S] */
    MASK_TARGETS_ROW,   /* i32 [M] */
    MASK_TARGETS_AT,    /* i32 [N, G, MASK_FIELDS] */
    MASK_TARGETS_BITS,  /* u8 [bytes]: the pool */
    MASK_TARGETS_SIZE,  /* i32 [N, 6] */
    /* All three or none: no object has an outline. */
    MASK_TARGETS_PARTS, /* i32 [N, G, 2]: an object's first polygon, and its number of polygons */
    MASK_TARGETS_PART,  /* i32 [polygons, 2]: a polygon's first point, and its number of points */
    MASK_TARGETS_POINT, /* f32 [points, 2]: x, y in pixels of the resized picture */
    MASK_TARGETS_INPUTS,

    MASK_TARGETS_T = 0, /* f32 [M, pooled, pooled]; 0 if ROW is below 0 */
    MASK_TARGETS_OUTPUTS
};

/* A 1x1 convolution of which only one channel per row is computed: y[r] = x[r] . w[label] +
 * b[label]; 0 if the label is below 1. */
enum class_conv_slot {
    CLASS_CONV_X,     /* [M, P, P, C] */
    CLASS_CONV_W,     /* wide [K, C] or [K, 1, 1, C] */
    CLASS_CONV_B,     /* wide [K] */
    CLASS_CONV_LABEL, /* i32, M values: 0 .. K - 1, or -1 */
    CLASS_CONV_INPUTS,

    CLASS_CONV_Y = 0, /* wide [M, P, P] */
    CLASS_CONV_OUTPUTS
};
/* dx has attr.target's shape, and is 0 in rows with a label below 1. */
enum class_conv_grad_data_slot {
    CLASS_CONV_GRAD_DATA_DY, /* [M, P, P], in the activation type */
    CLASS_CONV_GRAD_DATA_W,
    CLASS_CONV_GRAD_DATA_LABEL,
    CLASS_CONV_GRAD_DATA_INPUTS
};
/* dw has attr.target's shape, and is 0 for classes without a row. */
enum class_conv_grad_weight_slot {
    CLASS_CONV_GRAD_WEIGHT_DY,
    CLASS_CONV_GRAD_WEIGHT_X,
    CLASS_CONV_GRAD_WEIGHT_LABEL,
    CLASS_CONV_GRAD_WEIGHT_INPUTS,

    CLASS_CONV_GRAD_WEIGHT_DW = 0,
    CLASS_CONV_GRAD_WEIGHT_DB,
    CLASS_CONV_GRAD_WEIGHT_OUTPUTS
};

/* Binary cross entropy, the mean over all values of the first ROWS rows; 0 without rows. */
enum mask_loss_slot {
    MASK_LOSS_LOGITS, /* wide [M, P, P] */
    MASK_LOSS_T,      /* f32 [M, P, P]: 0 .. 1 */
    MASK_LOSS_ROWS,   /* i32 [1] */
    MASK_LOSS_INPUTS,

    MASK_LOSS_VALUE = 0, /* wide [1] */
    /* Output of the gradient, which has the same inputs: in the activation type, 0 after the
     * rows. */
    MASK_LOSS_GRAD_DLOGITS = 0
};

/* Detections of a picture. For every proposal and foreground class: the softmax probability, if it
 * is above score_threshold, and the decoded box (weights `coder`), clipped to the resized picture,
 * if its sides are at least min_side. Of these, class by class, those that survive non-maximum
 * suppression at nms_threshold; of these the best D = detections, by falling probability, of equal
 * ones the lower proposal, then the lower class. Empty slots are 0, with label -1. */
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

/* Metrics of a training step. Losses have weight 1 and are multiplied by the number of pictures,
 * so that sums over batches and ranks, divided by DETECT_IMAGES, are means over pictures. */
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
    DETECT_IMAGES, /* valid pictures */
    DETECT_LOSS_CLASSIFIER,
    DETECT_LOSS_BOX_REG,
    DETECT_LOSS_MASK,
    DETECT_LOSS_OBJECTNESS,
    DETECT_LOSS_RPN_BOX_REG,
    DETECT_ACCURACY,      /* of labels; also times pictures */
    DETECT_POSITIVES,     /* number of regions with an object, */
    DETECT_RPN_POSITIVES, /* and anchors */
    DETECT_METRICS
};

#endif
