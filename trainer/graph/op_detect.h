/* What the operators of detection are told beside their tensors: lies by value in struct op_attr,
 * each operator reads the fields it needs. Boxes are (x1, y1, x2, y2) in pixels of the resized
 * picture, whose upper left corner is that of the canvas. What the known trainings of Mask R-CNN do
 * differently is a flag or a number here, never a second operator. */
#ifndef TRAINER_GRAPH_OP_DETECT_H
#define TRAINER_GRAPH_OP_DETECT_H

enum {
    DETECT_LEVELS_MAX = 5, /* P2 .. P6 of a feature pyramid */
    DETECT_ANCHORS = 3     /* of a cell, one for each ratio */
};

enum detect_flag {
    DETECT_PLUS_ONE = 1 << 0,        /* a box from 3 to 5 is 3 wide: coder, IoU, NMS, clipping */
    DETECT_ANCHORS_INSIDE = 1 << 1,  /* anchors that leave the picture are not sampled */
    DETECT_RPN_FIXED_COUNT = 1 << 2, /* RPN losses over samples x pictures, not over those found */
    DETECT_TOP_OF_BATCH = 1 << 3,   /* proposals: the best post_nms x pictures of the whole batch */
    DETECT_SIDE_ABOVE = 1 << 4,     /* sides have to be above min_side, not only as long */
    DETECT_ORDER_BY_LOGIT = 1 << 5, /* NMS of proposals, instead of by probability */
    DETECT_ROI_ALIGNED = 1 << 6,    /* points half a pixel further up and left, no least size */
    DETECT_LEVEL_INSIDE = 1 << 7,   /* level_epsilon inside the logarithm, else added to it */
    DETECT_MASK_POLYGON =
        1 << 8,                /* mask targets are 0 or 1: outlines drawn, or bits from half on */
    DETECT_PIXELS_BGR = 1 << 9 /* blue first, 0 to 255; else red first, 0 to 1 */
};

struct detect_attr {
    unsigned flags;                  /* enum detect_flag */
    int canvas_h, canvas_w;          /* pixels */
    int levels;                      /* those in use: the first is 2^2 pixels a cell */
    int stride_h[DETECT_LEVELS_MAX]; /* pixels from cell to cell: canvas / size of the feature */
    int stride_w[DETECT_LEVELS_MAX];
    float half_h[DETECT_LEVELS_MAX][DETECT_ANCHORS]; /* of the anchors */
    float half_w[DETECT_LEVELS_MAX][DETECT_ANCHORS];
    float anchor_offset; /* of their centre in the cell: times stride - 1 */
    int level;           /* what belongs to one level alone: which */

    int pre_nms;    /* candidates of a level */
    int post_nms;   /* proposals of a picture */
    int objects;    /* slots for true objects */
    int samples;    /* anchors or regions of a picture that losses see */
    int positives;  /* at most so many of them match an object */
    int detections; /* of a picture */
    int classes;    /* without the background */
    int pooled;     /* RoIAlign: bins along an axis */
    int sampling;   /* RoIAlign: points of a bin along an axis; 0: the bin's size, rounded up */

    float nms_threshold;   /* IoU above it suppresses */
    float foreground_iou;  /* from it on an anchor or region matches */
    float background_iou;  /* below it, it is background; between the two anchors are ignored */
    float score_threshold; /* of detections */
    float min_side;
    float coder[4];      /* weights of dx, dy, dw, dh */
    float beta;          /* where smooth L1 turns linear; 0 is L1 */
    float level_epsilon; /* in the choice of a region's level */
};

#endif
