/* The model directory: what a finished training leaves for others.
 *
 *     model.safetensors   torchvision's names, OIHW, F32, num_batches_tracked as I64
 *     config.json         how to build the model and to prepare a picture for it
 *
 * Both are published whole, the weights first. config.json names the checksum of the weights that
 * it belongs to ("weights"), so that a kill between the two, or files of two models, are seen, and
 * carries one of itself (config_seal.h), which files of earlier versions lack. What a killed
 * publish has left is removed by the next one. */
#ifndef TRAINER_CHECKPOINT_MODEL_DIR_H
#define TRAINER_CHECKPOINT_MODEL_DIR_H

#include "common/error.h"
#include "trainer/checkpoint/array.h"
#include "trainer/checkpoint/model_config.h"
#include "trainer/checkpoint/safetensors.h"

#include <stddef.h>

/* Whether model_dir_save would write CONFIG to FOLDER, which is made when missing: to be asked
 * before the work whose result goes there. */
int model_dir_check(const char *folder, const struct model_config *config, struct error *err);

/* Makes FOLDER when missing. */
int model_dir_save(const char *folder, const struct model_config *config,
                   const struct array *arrays, size_t count, struct error *err);

/* Publishes what lies in FROM, which is whole, in FOLDER. */
int model_dir_copy(const char *from, const char *folder, struct error *err);

/* Reads config.json; every field is checked. */
int model_dir_config(const char *folder, struct model_config *ret_config, struct error *err);

/* Opens FOLDER/model.safetensors, which must be the file that CONFIG belongs to. Weights of
 * other programs, without checksums, go with a configuration that names none; so do files of the
 * first format version. */
int model_dir_open(const char *folder, const struct model_config *config, struct safetensors *file,
                   struct error *err);

#endif
