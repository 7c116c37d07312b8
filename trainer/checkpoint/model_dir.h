/* Directory of a trained model: the result of a finished training.
 *
 *     model.safetensors   torchvision's names, OIHW, F32, num_batches_tracked as I64
 *     config.json         how to build the model and to prepare a picture for it
 *
 * Each file is replaced atomically, the weights first. config.json holds the checksum of its
 * weights ("weights"), so that a kill between the two, or files of two models, are detected, and a
 * checksum of itself (config_seal.h), which files of earlier versions lack. The next publish
 * removes leftovers of a killed one. */
#ifndef TRAINER_CHECKPOINT_MODEL_DIR_H
#define TRAINER_CHECKPOINT_MODEL_DIR_H

#include "common/error.h"
#include "trainer/checkpoint/array.h"
#include "trainer/checkpoint/model_config.h"
#include "trainer/checkpoint/safetensors.h"

#include <stddef.h>

/* Checks that model_dir_save could write CONFIG to FOLDER; creates FOLDER if it is missing. Call it
 * before the work that is saved there. */
int model_dir_check(const char *folder, const struct model_config *config, struct error *err);

/* Creates FOLDER if it is missing. */
int model_dir_save(const char *folder, const struct model_config *config,
                   const struct array *arrays, size_t count, struct error *err);

/* Publishes the complete model in FROM to FOLDER. */
int model_dir_copy(const char *from, const char *folder, struct error *err);

/* Reads config.json and checks every field. */
int model_dir_config(const char *folder, struct model_config *ret_config, struct error *err);

/* Opens FOLDER/model.safetensors, which must be the file that CONFIG belongs to. A CONFIG that
 * names no weights accepts weights without checksums from other programs, and files of format
 * version 1. */
int model_dir_open(const char *folder, const struct model_config *config, struct safetensors *file,
                   struct error *err);

#endif
