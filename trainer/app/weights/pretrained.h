/* Initial weights of a model from a safetensors file: --init.
 *
 * The file may hold more than the model, prefix all names ("module.", "backbone.body."), have type
 * f16, bf16 or f64, and be made for another number of classes, or for none: then the classifier
 * keeps its initial values. All other tensors of the model must be there, in the model's shape.
 *
 * A detector may also have torchvision's names from before 0.12. Its classifiers are those of
 * boxes and masks. From a file of an image classifier, or of a body alone, it takes the body
 * ("backbone.body.conv1.weight" is "conv1.weight" there) and keeps the initial values of all
 * else. */
#ifndef TRAINER_APP_WEIGHTS_PRETRAINED_H
#define TRAINER_APP_WEIGHTS_PRETRAINED_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/graph/program/store.h"
#include "trainer/models/model.h"

#include <limits.h>

/* Writes GIVEN if it is a file, or the model.safetensors in it if it is the folder of a published
 * model. */
int pretrained_path(const char *given, char ret[PATH_MAX], struct error *err);

/* Checks that the file of --init is readable, if it will be read: if CHECKPOINTS, a folder, has no
 * checkpoint to resume from. Cheap; call it before data is read and the network compiled. */
int pretrained_check(const struct options *o, const char *checkpoints, struct error *err);

/* Reads the tensors of PATH into STORE, which holds initial values. NAMES are the model's (NULL: a
 * classifier). PREFIX precedes the model's names in the file; NULL: use the prefix that matches
 * most of the model. Appends to NOTES a line for each thing kept or unused. Errors have
 * EXIT_CODE_DATA and name file and tensor. */
int pretrained_read(struct store *store, const struct model_names *names, const char *path,
                    const char *prefix, struct buf *notes, struct error *err);

#endif
