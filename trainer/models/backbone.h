/* The body of a ResNet: stem and stages, from the normalised image to the map of each stage. Behind
 * the last one a classifier has its head (models/resnet.h); a detector takes all four.
 *
 * v1.5: the stride of a bottleneck lies in its 3x3, as in torchvision, unless `stride_first` (He et
 * al. 2015 have it in the first 1x1). Names are torchvision's, behind a prefix:
 * "layer1.0.conv1.weight".
 *
 * Start values: convolutions normal with fan out, norms 1 and 0. */
#ifndef TRAINER_MODELS_BACKBONE_H
#define TRAINER_MODELS_BACKBONE_H

#include "trainer/graph/graph.h"

#include <stdbool.h>

enum { BACKBONE_STAGES = 4 };

struct backbone_family {
    const char *name;
    bool bottleneck; /* 1x1, 3x3, 1x1 with four times the channels; else two 3x3 */
    bool cifar;      /* 3x3 stem without pool */
    int channels;    /* of the stem and of the first stage's inner maps; twice as many each stage */
    int blocks[BACKBONE_STAGES]; /* 0: no such stage */
};

struct backbone {
    const struct backbone_family *family;
    const char *prefix; /* of all names: "", "backbone.body." */
    double epsilon;     /* of the norms */
    bool stride_first;  /* the stride of a bottleneck in its first 1x1 */
    bool zero_gamma;    /* the last norm of each block starts at 0: blocks start as identities */
    bool frozen_norms;  /* norms are constants and use their running statistics */
    int frozen_stages;  /* what is constant as a whole: 1 the stem, 2 layer1, too, ... */
};

/* Of the map that stage STAGE makes, from 0. */
int64_t backbone_channels(const struct backbone_family *family, int stage);

/* X: normalised images [N,H,W,C], C at least 3. Fills the map of each stage, TENSOR_NONE where
 * there is none. */
void backbone_build(struct graph *graph, const struct backbone *backbone, int x,
                    int ret_stages[BACKBONE_STAGES]);

#endif
