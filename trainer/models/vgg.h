/* VGG-16 (Simonyan and Zisserman 2015, configuration D). It has torchvision's names
 * ("features.0.weight", "classifier.6.bias"), so that a checkpoint loads there. Without dropout
 * between its hidden layers: torchvision's vgg16(dropout=0).
 *
 * Pictures have 224 to 255 pixels a side; five pooling layers reduce that to 7. Initial values are
 * torchvision's: convolutions normal by fan out, linear layers normal with deviation 0.01, biases
 * 0. */
#ifndef TRAINER_MODELS_VGG_H
#define TRAINER_MODELS_VGG_H

#include "trainer/models/model_types.h"

/* Function of struct model. Inputs "image" u8 [N,H,W,3], "label" i32 [N], "weight" f32 [N]; kept:
 * "logits" [N, classes] and "metrics" (enum loss_metric). */
int vgg_build(struct graph *graph, const struct model *model, const struct model_options *options,
              struct error *err);
/* For tests: divides all widths but the number of classes by NARROW. */
int vgg_build_narrow(struct graph *graph, const struct model_options *options, int narrow,
                     struct error *err);

#endif
