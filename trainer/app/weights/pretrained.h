/* --init: start values of a model from somebody's safetensors file.
 *
 * The file may hold more than the model, call everything by a prefix ("module.", "backbone.body."),
 * be of f16, bf16 or f64, and be made for another number of classes, or none at all: then the
 * classifier keeps its start values. All else of the model must be there, in its shape.
 *
 * A detector may lie there under torchvision's names of before 0.12 as well. Its classifiers are
 * those of boxes and masks; of a file that holds a classifier of pictures, or a body alone, it
 * takes its body ("backbone.body.conv1.weight" is "conv1.weight" there) and keeps all else. */
#ifndef TRAINER_APP_WEIGHTS_PRETRAINED_H
#define TRAINER_APP_WEIGHTS_PRETRAINED_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/graph/program/store.h"
#include "trainer/models/model.h"

#include <limits.h>

/* GIVEN, a file, or the model.safetensors of GIVEN, a folder that a training has published. */
int pretrained_path(const char *given, char ret[PATH_MAX], struct error *err);

/* Whether the file of --init can be read at all, where it will be: CHECKPOINTS, a folder, has none
 * to go on from. Costs nothing, before data is read and the network is compiled. */
int pretrained_check(const struct options *o, const char *checkpoints, struct error *err);

/* Reads what PATH has for STORE, which has its start values. NAMES are the model's (NULL: a
 * classifier). PREFIX stands before the model's names
 * in the file; NULL: the one under which most of the model is. What was kept and what was not used
 * is told in NOTES, a line each. Errors have EXIT_CODE_DATA and name file and tensor. */
int pretrained_read(struct store *store, const struct model_names *names, const char *path,
                    const char *prefix, struct buf *notes, struct error *err);

#endif
