/* Body of a ResNet: stem and stages, from the normalized image to the feature map of each stage. A
 * classifier adds its head to the last one (models/resnet.h); a detector uses all four.
 *
 * v1.5: the stride of a bottleneck is in its 3x3, as in torchvision, unless `stride_first` (He et
 * al. 2015 have it in the first 1x1). Names are torchvision's, after a prefix:
 * "layer1.0.conv1.weight".
 *
 * Initial values: convolutions normal by fan out, norms 1 and 0. */
#ifndef TRAINER_MODELS_BACKBONE_H
#define TRAINER_MODELS_BACKBONE_H

#include "trainer/graph/graph.h"

#include <stdbool.h>

enum { BACKBONE_STAGES = 4 };

struct backbone_family {
    const char *name;
    bool bottleneck; /* 1x1, 3x3, 1x1 with four times the channels; else two 3x3 */
    bool cifar;      /* 3x3 stem without pooling */
    int channels;    /* of the stem and of the first stage's inner maps; doubled in each further
                      * stage */
    int widening;    /* factor of a bottleneck's inner channels (Zagoruyko, Komodakis 2016); 0: 1 */
    int groups;      /* of a bottleneck's 3x3 (Xie et al. 2017); 0: 1 */
    int blocks[BACKBONE_STAGES]; /* 0: no such stage */
};

struct backbone {
    const struct backbone_family *family;
    const char *prefix; /* prefix of all names: "", "backbone.body." */
    double epsilon;     /* of the norms */
    bool stride_first;  /* the stride of a bottleneck is in its first 1x1 */
    bool zero_gamma;    /* the last norm of each block starts at 0: blocks start as identities */
    bool frozen_norms;  /* norms are frozen and use their running statistics */
    int frozen_stages;  /* frozen stages: 1 the stem, 2 also layer1, ... */
};

/* Returns the channels of the map of stage STAGE, from 0. */
int64_t backbone_channels(const struct backbone_family *family, int stage);

/* X: normalized images [N,H,W,C], C at least 3. Fills the map of each stage; TENSOR_NONE for a
 * missing stage. */
void backbone_build(struct graph *graph, const struct backbone *backbone, int x,
                    int ret_stages[BACKBONE_STAGES]);

#endif
