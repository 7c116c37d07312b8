/* Shared declarations of the parts of a detector's graph; private to this folder. */
#ifndef TRAINER_MODELS_DETECTOR_H
#define TRAINER_MODELS_DETECTOR_H

#include "trainer/graph/build/build.h"
#include "trainer/graph/graph.h"
#include "trainer/models/backbone.h"
#include "trainer/models/detect_preset.h"
#include "trainer/models/maskrcnn_config.h"

/* Sizes of a network. */
struct detector_family {
    const char *name;
    struct backbone_family backbone;
    int pyramid;                    /* channels of the pyramid and of the heads' convolutions */
    int anchors[DETECT_LEVELS_MAX]; /* sides of the square anchors */
    int hidden;                     /* width of the box head */
    int mask_convs;
};

struct detector {
    struct graph *graph;
    const struct detector_family *family;
    const struct detect_preset *preset;
    const struct maskrcnn_config *config;
    struct detect_attr rpn, regions;
    struct maskrcnn_tensors *t;
    int maps[DETECT_LEVELS_MAX]; /* P2 .. P6 */
};

/* Appends an operator of detection. RET_OUTPUTS gets all its outputs, TENSOR_NONE once building
 * has failed. */
void detector_op(const struct detector *d, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, int ret_outputs[OP_OUTPUTS_MAX]);

/* Adds NAME.weight [outputs, kernel, kernel, inputs], initialized by INIT, and NAME.bias, zero. */
struct graph_weights detector_conv_weights(const struct detector *d, const char *name,
                                           int64_t inputs, int64_t outputs, int kernel,
                                           enum tensor_init init);

/* Builds the feature pyramid: maps of the backbone's stages -> `maps` (models/fpn.c). */
void detector_pyramid(struct detector *d, const int stages[BACKBONE_STAGES]);

/* Outputs of the region proposal network (models/rpn.c). */
struct detector_proposals {
    int box, count; /* f32 [N, K, 4], i32 [N] */
    int nan;        /* i32 [N]: number of NaN logits of the network */
    int losses;     /* training: wide [RPN_LOSSES] */
};
struct detector_proposals detector_rpn(const struct detector *d);

/* Heads on regions (models/roi_heads.c): the losses of a step, or the detections. */
void detector_learn(const struct detector *d, const struct detector_proposals *proposals);
void detector_find(const struct detector *d, const struct detector_proposals *proposals);

#endif
