/* Attributes of the detection operators, a part of struct op_attr; each operator reads the fields
 * it needs. Boxes are (x1, y1, x2, y2) in pixels of the resized picture, which lies in the canvas'
 * upper left corner. Differences between the known trainings of Mask R-CNN are flags or numbers
 * here, never separate operators. */
#ifndef TRAINER_GRAPH_OP_DETECT_H
#define TRAINER_GRAPH_OP_DETECT_H

enum {
    DETECT_LEVELS_MAX = 5, /* P2 .. P6 of a feature pyramid */
    DETECT_ANCHORS = 3     /* of a cell, one for each ratio */
};

enum detect_flag {
    DETECT_PLUS_ONE = 1 << 0,        /* a box from 3 to 5 is 3 wide: coder, IoU, NMS, clipping */
    DETECT_ANCHORS_INSIDE = 1 << 1,  /* anchors that extend outside the picture are not sampled */
    DETECT_RPN_FIXED_COUNT = 1 << 2, /* RPN losses are divided by samples x pictures, not by the
                                      * number sampled */
    DETECT_TOP_OF_BATCH = 1 << 3,   /* proposals: the best post_nms x pictures of the whole batch */
    DETECT_SIDE_ABOVE = 1 << 4,     /* sides must be longer than min_side, not just as long */
    DETECT_ORDER_BY_LOGIT = 1 << 5, /* NMS of proposals ranks by logit instead of probability */
    DETECT_ROI_ALIGNED = 1 << 6,    /* RoIAlign samples half a pixel further up and left, without a
                                     * least size */
    DETECT_LEVEL_INSIDE = 1 << 7,   /* level_epsilon inside the logarithm, else added to it */
    DETECT_MASK_POLYGON = 1 << 8,   /* mask targets are 0 or 1: rasterized outlines, or bitmap means
                                     * from one half on */
    DETECT_PIXELS_BGR = 1 << 9      /* BGR, 0 to 255; else RGB, 0 to 1 */
};

struct detect_attr {
    unsigned flags;                  /* enum detect_flag */
    int canvas_h, canvas_w;          /* pixels */
    int levels;                      /* number in use: the first has a stride of 2^2 pixels */
    int stride_h[DETECT_LEVELS_MAX]; /* stride in pixels: canvas / size of the feature map */
    int stride_w[DETECT_LEVELS_MAX];
    float half_h[DETECT_LEVELS_MAX][DETECT_ANCHORS]; /* of the anchors */
    float half_w[DETECT_LEVELS_MAX][DETECT_ANCHORS];
    float anchor_offset; /* of their centre in the cell: times stride - 1 */
    int level;           /* of operators for a single level: its number */

    int pre_nms;    /* candidates per level */
    int post_nms;   /* proposals per picture */
    int objects;    /* slots for ground truth objects */
    int samples;    /* sampled anchors or regions per picture */
    int positives;  /* at most this many of them are positive */
    int detections; /* per picture */
    int classes;    /* without the background */
    int pooled;     /* RoIAlign: bins along each axis */
    int sampling;   /* RoIAlign: sampling points of a bin along each axis; 0: the bin's size,
                     * rounded up */

    float nms_threshold;   /* boxes with a larger IoU are suppressed */
    float foreground_iou;  /* least IoU of a positive anchor or region */
    float background_iou;  /* below this IoU it is background; anchors in between are ignored */
    float score_threshold; /* least score of a detection, exclusive */
    float min_side;
    float coder[4];      /* weights of dx, dy, dw, dh */
    float beta;          /* smooth L1 is linear beyond this; 0: L1 */
    float level_epsilon; /* for the choice of a region's level */
};

#endif
