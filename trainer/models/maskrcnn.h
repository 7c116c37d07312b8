/* Mask R-CNN with a feature pyramid (He et al., "Mask R-CNN", 2017; Lin et al., "Feature Pyramid
 * Networks", 2017) on a ResNet, as torchvision builds it:
 *
 *   maskrcnn_resnet50_fpn   the published network
 *   maskrcnn_tiny           a small version for tests and small pictures: one bottleneck per
 *                           stage from 16 channels, pyramid of 64, anchors from 8 px
 *
 * All shapes are static: a batch lies on one canvas, and slots that its pictures do not fill are
 * empty. Names are torchvision's ("backbone.body.layer1.0.conv1.weight", "rpn.head.conv.0.0.bias",
 * "roi_heads.box_head.fc6.weight"), and so are initial values. */
#ifndef TRAINER_MODELS_MASKRCNN_H
#define TRAINER_MODELS_MASKRCNN_H

#include "common/error.h"
#include "trainer/graph/graph.h"
#include "trainer/models/maskrcnn_config.h"

#include <stdbool.h>

/* Builds the model in GRAPH, which it initializes: call graph_done in any case. */
int maskrcnn_build(struct graph *graph, const struct maskrcnn_config *config,
                   struct maskrcnn_tensors *ret_tensors, struct error *err);

bool maskrcnn_known(const char *model);

#endif
