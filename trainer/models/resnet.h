/* Builders of the ResNet families: ResNet-18/34/50/101/152 (He et al. 2015, table 1), designed for
 * 224 px; Wide-ResNet-50-2 and -101-2 (Zagoruyko, Komodakis 2016, table 8), with twice the channels
 * within each bottleneck; ResNeXt-50 32x4d and -101 32x8d (Xie et al. 2017, table 1), with a 3x3 in
 * 32 groups of 4 or 8 channels, doubled in each further stage; and the CIFAR family
 * ResNet-20/32/44/56/110 (He et al., section 4.2: a 3x3 stem without pooling, three stages of 16,
 * 32, 64 channels).
 *
 * Names are torchvision's ("conv1.weight", "layer1.0.bn1.running_mean",
 * "layer2.0.downsample.0.weight", "fc.bias"), so that a checkpoint loads there. CIFAR shortcuts
 * that change shape are 1x1 projections with batch norm (option B of the paper, which used A, a
 * padded copy): they cost a few thousand parameters and need no operator of their own.
 *
 * Initial values are torchvision's: those of the body (models/backbone.h), the classifier uniform
 * by fan in. */
#ifndef TRAINER_MODELS_RESNET_H
#define TRAINER_MODELS_RESNET_H

#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

struct resnet_config {
    const char *model; /* "resnet50", "resnet20" ... */
    int batch;         /* images in a step of this rank */
    int image_size;    /* square, in pixels; at least 8 */
    int classes;       /* at least 2 */
    bool training;
    bool zero_gamma;  /* the last norm of each block starts at 0: blocks start as identities */
    enum dtype dtype; /* of activations */
    double label_smoothing;
    double dropout;        /* in training, before the last layer; 0: none */
    float mean[3], std[3]; /* of pixel values in 0..1 */
    int stem_channels; /* channels of the normalized image: 3, or more, padded with zeros; 0: 3 */
};

/* Numbers of the tensors to fill before and to read after a step. */
struct resnet_tensors {
    int image;   /* input "image", u8 [N,H,W,3] */
    int label;   /* input "label", i32 [N], 0-based */
    int weight;  /* input "weight", f32 [N]: 1, or 0 for a slot that only fills the batch */
    int logits;  /* kept, "logits" [N, classes], f32 */
    int metrics; /* kept, "metrics" [LOSS_METRICS], f32 (enum loss_metric) */
};

/* Builds the model in GRAPH, which it initializes: call graph_done in any case. */
int resnet_build(struct graph *graph, const struct resnet_config *config,
                 struct resnet_tensors *ret_tensors, struct error *err);

/* Returns "resnet18, resnet34, ..." for messages and help. */
const char *resnet_names(void);
bool resnet_known(const char *model);
/* Returns the side of the images that the family was designed for: 224 or 32. */
int resnet_default_image_size(const char *model);

#endif
