/* Inception v3 (Szegedy et al. 2015, "Rethinking the Inception Architecture", table 1) with
 * torchvision's names ("Mixed_6b.branch7x7_2.conv.weight", "AuxLogits.fc.weight"), so that a
 * checkpoint loads there: torchvision's inception_v3(transform_input=False).
 *
 * In training a second classifier reads the maps of 17 x 17, and its loss counts 0.4 (section 4).
 * Its weights are part of the network in evaluation, too, where nothing reads them. Pictures have
 * at least 299 pixels a side in training, as the second classifier needs these maps, and at least
 * 75 otherwise.
 *
 * Initial values are torchvision's: convolutions and linear layers normal with deviation 0.1, of
 * the second classifier's last two 0.01 and 0.001; norms 1 and 0. */
#ifndef TRAINER_MODELS_INCEPTION_H
#define TRAINER_MODELS_INCEPTION_H

#include "trainer/models/model_types.h"

/* The layers that depend on the classes. */
extern const struct model_names INCEPTION_NAMES;

/* Function of struct model. Inputs "image" u8 [N,H,W,3], "label" i32 [N], "weight" f32 [N]; kept:
 * "logits" [N, classes] and "metrics" (enum loss_metric) of the classifier, and in training
 * "aux_logits" and "aux_metrics" of the second one. */
int inception_build(struct graph *graph, const struct model *model,
                    const struct model_options *options, struct error *err);
/* For tests: divides all widths but the number of classes by NARROW. */
int inception_build_narrow(struct graph *graph, const struct model_options *options, int narrow,
                           struct error *err);

#endif
