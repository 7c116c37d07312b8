/* The model directory: what a finished training leaves for others.
 *
 *     model.safetensors   torchvision's names, OIHW, F32, num_batches_tracked as I64
 *     config.json         how to build the model and to prepare a picture for it
 *
 * Both are published whole, the weights first. config.json names the checksum of the weights that
 * it belongs to ("weights"), so that a kill between the two, or files of two models, are seen. What
 * a killed publish has left is removed by the next one. */
#ifndef CHECKPOINT_MODEL_DIR_H
#define CHECKPOINT_MODEL_DIR_H

#include "checkpoint/array.h"
#include "checkpoint/safetensors.h"
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { MODEL_DIGEST_SIZE = 16 };

struct model_config {
    char *model;        /* "resnet18" */
    char **class_names; /* [classes] */
    size_t classes;
    int image_size;  /* side of the network's input, pixels */
    int resize_side; /* short side before the centre crop */
    /* Of a network that finds objects, in place of these two: */
    char *preset;          /* whose way of it: "tv"; NULL: it classifies */
    int64_t *category_ids; /* [classes]: of the data's categories, by label from 1 on; -1: none */
    int short_side;        /* what pictures are scaled to, unless the long one exceeds... */
    int long_side;         /* ...this; pixels */
    double mean[3];        /* of pixels scaled to 0..1, RGB */
    double std[3];
    double epochs; /* that it was trained for; 0: not told */

    /* Of what was read alone: */
    int64_t version;                 /* checkpoint/format_version.h */
    char weights[MODEL_DIGEST_SIZE]; /* "crc32c:1a2b3c4d"; "": not told */
};

void model_config_done(struct model_config *config);

/* Whether model_dir_save would write CONFIG to FOLDER, which is made when missing: to be asked
 * before the work whose result goes there. */
int model_dir_check(const char *folder, const struct model_config *config, struct error *err);

/* Makes FOLDER when missing. */
int model_dir_save(const char *folder, const struct model_config *config,
                   const struct array *arrays, size_t count, struct error *err);

/* Reads config.json; every field is checked. */
int model_dir_config(const char *folder, struct model_config *ret_config, struct error *err);

/* Opens FOLDER/model.safetensors, which must be the file that CONFIG belongs to. Weights of
 * other programs, without checksums, go with a configuration that names none; so do files of the
 * first format version. */
int model_dir_open(const char *folder, const struct model_config *config, struct safetensors *file,
                   struct error *err);

#define cleanup_model_config __attribute__((cleanup(model_config_done)))

#endif
