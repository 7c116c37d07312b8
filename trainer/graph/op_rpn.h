/* The operators around a region proposal network (Ren et al. 2015; Lin et al. 2017) and their
 * slots. What the network itself computes, logits and deltas of every anchor, comes from
 * convolutions; here is what is chosen by it and what it is taught. N pictures, G slots for
 * objects, T candidates (of each level min(pre_nms, its anchors), the levels one after the other),
 * K = post_nms proposals, S = samples. Level l of the pyramid has the pixels that detect_grid()
 * says; logits_l is [N * pixels, 3], deltas_l [N * pixels, 12], both in the wide type. An anchor's
 * number counts over all levels (math/anchor.h).
 *
 * Scores decide in one order everywhere: the higher first, of equal ones the lower place, NaN last
 * (math/rank.h). What is chosen is the same on every backend, bit for bit. Nothing but
 * OP_RPN_LOSS has a gradient. */
#ifndef TRAINER_GRAPH_OP_RPN_H
#define TRAINER_GRAPH_OP_RPN_H

#include "trainer/graph/op_detect.h"

/* The best candidates of each level and picture by their logits, each level in falling order. */
enum rpn_top_k_slot {
    RPN_TOP_K_LOGITS, /* and the levels behind it */
    RPN_TOP_K_INPUTS = RPN_TOP_K_LOGITS + DETECT_LEVELS_MAX,

    RPN_TOP_K_SCORE = 0, /* f32 [N, T]: logits */
    RPN_TOP_K_INDEX,     /* i32 [N, T]: numbers of anchors */
    RPN_TOP_K_NAN,       /* i32 [N]: how many logits of the picture are NaN */
    RPN_TOP_K_OUTPUTS
};

/* The candidates' boxes: decoded with weights `coder`, clipped to the resized picture. A score is
 * the logit's probability (DETECT_ORDER_BY_LOGIT: the logit); minus infinity where a side is below
 * min_side or something is NaN, and in a picture that is not valid: such a candidate is none. */
enum rpn_boxes_slot {
    RPN_BOXES_DELTAS, /* and the levels behind it */
    RPN_BOXES_SCORE = RPN_BOXES_DELTAS + DETECT_LEVELS_MAX,
    RPN_BOXES_INDEX,
    RPN_BOXES_IMAGE_SIZE, /* i32 [N, 6]: enum image_size_field */
    RPN_BOXES_INPUTS,

    RPN_BOXES_BOX = 0,   /* f32 [N, T, 4] */
    RPN_BOXES_RANKED_BY, /* f32 [N, T] */
    RPN_BOXES_OUTPUTS
};

/* Greedy non-maximum suppression within each picture and level: by falling score a box is kept
 * unless one that is kept overlaps it by more than nms_threshold. */
enum nms_slot {
    NMS_BOX,   /* f32 [N, T, 4] */
    NMS_SCORE, /* f32 [N, T] */
    NMS_INPUTS,

    NMS_KEEP = 0, /* i32 [N, T]: 1 or 0 */
    NMS_OUTPUTS
};

/* The best K of those that are kept, over all levels of a picture; empty slots behind them are 0.
 */
enum proposals_slot {
    PROPOSALS_FROM_BOX,   /* f32 [N, T, 4] */
    PROPOSALS_FROM_SCORE, /* f32 [N, T] */
    PROPOSALS_KEEP,
    PROPOSALS_INPUTS,

    PROPOSALS_BOX = 0, /* f32 [N, K, 4] */
    PROPOSALS_SCORE,   /* f32 [N, K] */
    PROPOSALS_COUNT,   /* i32 [N] */
    PROPOSALS_OUTPUTS
};

/* What the network should say of S anchors of a picture. An anchor whose overlap with its best
 * object (the lowest number of several) is below background_iou is background, from
 * foreground_iou on it is that object's; so is one that has the largest overlap, above 0, that any
 * anchor has with some object. Others are ignored. At most `positives` with an object are sampled
 * and background up to S in all: those with the smallest keys (math/sample_key.h). */
enum rpn_targets_slot {
    RPN_TARGETS_GT_BOX,     /* f32 [N, G, 4]: the objects */
    RPN_TARGETS_GT_COUNT,   /* i32 [N] */
    RPN_TARGETS_IMAGE_SIZE, /* a picture that is not valid has no samples */
    RPN_TARGETS_KEY,        /* i32 [N, 4]: enum sample_key_word */
    RPN_TARGETS_INPUTS,

    RPN_TARGETS_INDEX = 0, /* i32 [N, S]: anchors with objects by rising number, then background by
                              rising number, then -1 */
    RPN_TARGETS_LABEL,     /* i32 [N, S]: 1, 0, and -1 where the slot is empty */
    RPN_TARGETS_TARGET,    /* f32 [N, S, 4]: the object's code from the anchor; 0 of background */
    RPN_TARGETS_COUNT,     /* i32 [N, 2]: anchors with objects, and background */
    RPN_TARGETS_OUTPUTS
};

/* The losses, means over all anchors that are sampled in the batch (DETECT_RPN_FIXED_COUNT: over S
 * * N): binary cross entropy of the logits; smooth L1 with width `beta` of the deltas of anchors
 * with objects. Its gradient is one operator a level (attr.detect.level), in the activation type.
 */
enum rpn_loss_slot {
    RPN_LOSS_LOGITS, /* and the levels behind it */
    RPN_LOSS_DELTAS = RPN_LOSS_LOGITS + DETECT_LEVELS_MAX,
    RPN_LOSS_INDEX = RPN_LOSS_DELTAS + DETECT_LEVELS_MAX,
    RPN_LOSS_LABEL,
    RPN_LOSS_TARGET,
    RPN_LOSS_INPUTS,

    RPN_LOSS_VALUES = 0, /* wide [RPN_LOSSES]: enum rpn_loss */
    RPN_LOSS_OUTPUTS
};
enum rpn_loss {
    RPN_LOSS_OBJECTNESS,
    RPN_LOSS_BOX,
    RPN_LOSS_SAMPLED,
    RPN_LOSS_POSITIVES,
    RPN_LOSSES
};

enum rpn_loss_grad_slot {
    RPN_LOSS_GRAD_LOGITS, /* of one level, */
    RPN_LOSS_GRAD_DELTAS, /* and of the same one */
    RPN_LOSS_GRAD_INDEX,
    RPN_LOSS_GRAD_LABEL,
    RPN_LOSS_GRAD_TARGET,
    RPN_LOSS_GRAD_INPUTS,

    RPN_LOSS_GRAD_DLOGITS = 0,
    RPN_LOSS_GRAD_DDELTAS,
    RPN_LOSS_GRAD_OUTPUTS
};

/* What fusion makes of OP_RPN_LOSS_GRAD and all that lies behind it in the network's head on one
 * level (attr.detect.level): t = relu(conv3x3(x) + bias), logits = t . w_cls, deltas = t . w_box.
 * The losses see a few hundred anchors of a picture, so that of all pixels only theirs have a
 * gradient at t, and only their neighbourhoods one at x. */
enum rpn_head_grad_slot {
    RPN_HEAD_GRAD_LOGITS, /* as RPN_LOSS_GRAD_LOGITS to _TARGET */
    RPN_HEAD_GRAD_DELTAS,
    RPN_HEAD_GRAD_INDEX,
    RPN_HEAD_GRAD_LABEL,
    RPN_HEAD_GRAD_TARGET,
    RPN_HEAD_GRAD_X,      /* [N, H, W, I] */
    RPN_HEAD_GRAD_T,      /* [N, H, W, O] */
    RPN_HEAD_GRAD_W_CONV, /* wide [O, 3, 3, I] */
    RPN_HEAD_GRAD_W_CLS,  /* wide [3, O] */
    RPN_HEAD_GRAD_W_BOX,  /* wide [12, O] */
    RPN_HEAD_GRAD_INPUTS,

    RPN_HEAD_GRAD_DX = 0,
    RPN_HEAD_GRAD_DW_CONV,
    RPN_HEAD_GRAD_DB_CONV,
    RPN_HEAD_GRAD_DW_CLS,
    RPN_HEAD_GRAD_DB_CLS,
    RPN_HEAD_GRAD_DW_BOX,
    RPN_HEAD_GRAD_DB_BOX,
    RPN_HEAD_GRAD_OUTPUTS
};

#endif
