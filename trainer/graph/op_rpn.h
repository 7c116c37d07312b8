/* Operators around a region proposal network (Ren et al. 2015; Lin et al. 2017) and their slots.
 * Convolutions compute the network's logits and deltas of every anchor; the operators here select
 * proposals from them and compute targets and losses. N pictures, G slots for objects, T
 * candidates (min(pre_nms, its anchors) for each level, level after level), K = post_nms
 * proposals, S = samples. Level l of the pyramid has the pixels given by detect_grid(); logits_l
 * is [N * pixels, 3], deltas_l [N * pixels, 12], both in the wide type. Anchors are numbered over
 * all levels (math/anchor.h).
 *
 * Scores are ordered the same way everywhere: the higher first, of equal ones the lower position,
 * NaN last (math/rank.h). Selections are the same on every backend, bit for bit. Only OP_RPN_LOSS
 * has a gradient. */
#ifndef TRAINER_GRAPH_OP_RPN_H
#define TRAINER_GRAPH_OP_RPN_H

#include "trainer/graph/op_detect.h"

/* The best candidates of each level and picture by logit, in falling order within a level. */
enum rpn_top_k_slot {
    RPN_TOP_K_LOGITS, /* and the levels after it */
    RPN_TOP_K_INPUTS = RPN_TOP_K_LOGITS + DETECT_LEVELS_MAX,

    RPN_TOP_K_SCORE = 0, /* f32 [N, T]: logits */
    RPN_TOP_K_INDEX,     /* i32 [N, T]: numbers of the anchors */
    RPN_TOP_K_NAN,       /* i32 [N]: number of NaN logits of the picture */
    RPN_TOP_K_OUTPUTS
};

/* Boxes of the candidates: decoded with weights `coder`, clipped to the resized picture. The score
 * is the logit's probability (DETECT_ORDER_BY_LOGIT: the logit); minus infinity, which excludes
 * the candidate, if a side is below min_side, a value is NaN, or the picture is invalid. */
enum rpn_boxes_slot {
    RPN_BOXES_DELTAS, /* and the levels after it */
    RPN_BOXES_SCORE = RPN_BOXES_DELTAS + DETECT_LEVELS_MAX,
    RPN_BOXES_INDEX,
    RPN_BOXES_IMAGE_SIZE, /* i32 [N, 6]: enum image_size_field */
    RPN_BOXES_INPUTS,

    RPN_BOXES_BOX = 0,   /* f32 [N, T, 4] */
    RPN_BOXES_RANKED_BY, /* f32 [N, T] */
    RPN_BOXES_OUTPUTS
};

/* Greedy non-maximum suppression within each picture and level: in order of falling score a box is
 * kept unless a kept box overlaps it by more than nms_threshold. */
enum nms_slot {
    NMS_BOX,   /* f32 [N, T, 4] */
    NMS_SCORE, /* f32 [N, T] */
    NMS_INPUTS,

    NMS_KEEP = 0, /* i32 [N, T]: 1 or 0 */
    NMS_OUTPUTS
};

/* The best K kept boxes over all levels of a picture, followed by empty slots of 0. */
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

/* Targets of the network for S anchors of a picture. An anchor is matched with the object of
 * largest overlap (of several, the one with the lowest number): below background_iou it is
 * background, from foreground_iou on it is positive; also positive is an anchor with the largest
 * overlap, above 0, that any anchor has with some object. Others are ignored. At most `positives`
 * positive anchors are sampled, and background up to S in all: those with the smallest keys
 * (math/sample_key.h). */
enum rpn_targets_slot {
    RPN_TARGETS_GT_BOX,     /* f32 [N, G, 4]: the objects */
    RPN_TARGETS_GT_COUNT,   /* i32 [N] */
    RPN_TARGETS_IMAGE_SIZE, /* an invalid picture has no samples */
    RPN_TARGETS_KEY,        /* i32 [N, 4]: enum sample_key_word */
    RPN_TARGETS_INPUTS,

    RPN_TARGETS_INDEX = 0, /* i32 [N, S]: positive anchors by ascending number, then background by
                            * ascending number, then -1 */
    RPN_TARGETS_LABEL,     /* i32 [N, S]: 1, 0, and -1 in empty slots */
    RPN_TARGETS_TARGET,    /* f32 [N, S, 4]: the object encoded relative to the anchor; 0 for
                            * background */
    RPN_TARGETS_COUNT,     /* i32 [N, 2]: numbers of positive anchors and of background */
    RPN_TARGETS_OUTPUTS
};

/* Losses, means over all sampled anchors of the batch (DETECT_RPN_FIXED_COUNT: over S * N): binary
 * cross entropy of the logits; smooth L1 with width `beta` of the deltas of positive anchors. The
 * gradient is one operator per level (attr.detect.level), in the activation type. */
enum rpn_loss_slot {
    RPN_LOSS_LOGITS, /* and the levels after it */
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

/* Fusion of OP_RPN_LOSS_GRAD with the backward pass of the network's head on one level
 * (attr.detect.level): t = relu(conv3x3(x) + bias), logits = t . w_cls, deltas = t . w_box. The
 * losses involve a few hundred anchors of a picture, so only their pixels have a gradient at t,
 * and only the neighbourhoods of those at x. */
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
