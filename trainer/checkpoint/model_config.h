/* How to build a network and to prepare a picture for it: what config.json of a model directory
 * says, and so does each checkpoint of a training. */
#ifndef TRAINER_CHECKPOINT_MODEL_CONFIG_H
#define TRAINER_CHECKPOINT_MODEL_CONFIG_H

#include "common/error.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_DIGEST_SIZE = 16,
    MODEL_RULES_MAX = 32,
    MODEL_RULE_NAME_SIZE = 32,
    MODEL_UNKNOWN_MAX = 256
};

/* A number by name: what it means is the network's. */
struct model_rule {
    char name[MODEL_RULE_NAME_SIZE];
    double value;
};

enum { MODEL_METRIC_SIZE = 32 };

/* What a model was worth when it was kept as the best of its training, and where that stood
 * (run_state.h). */
struct model_score {
    char metric[MODEL_METRIC_SIZE]; /* "top1"; "": it was not kept for that */
    double value;
    int64_t step, samples, course;
};

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
    struct model_rule rules[MODEL_RULES_MAX]; /* how it is used (models/detect_rules.h), in nine */
    size_t rule_count;                        /* digits; 0: as the preset says */
    double mean[3];                           /* of pixels scaled to 0..1, RGB */
    double std[3];
    double epochs; /* that it was trained for; 0: not told */
    struct model_score score;

    /* Of what was read alone: */
    int64_t version;                 /* checkpoint/format_version.h */
    char weights[MODEL_DIGEST_SIZE]; /* "crc32c:1a2b3c4d"; "": not told */
    bool sealed;                     /* config.json carries a checksum of itself */
    char unknown[MODEL_UNKNOWN_MAX]; /* "epocs, widht": keys that mean nothing here; "": none */
};

void model_config_done(struct model_config *config);

/* CONFIG as JSON that names WEIGHTS ("": none), to be freed. WHERE names it in the error of a class
 * name that is not UTF-8, which JSON wants (EXIT_CODE_DATA). */
int model_config_text(const struct model_config *config, const char *weights, const char *where,
                      char **ret_text, struct error *err);

/* Every field is checked; WHERE names ROOT in errors (EXIT_CODE_DATA). RET is to be done with only
 * where this succeeds. */
int model_config_read(json_t *root, const char *where, struct model_config *ret, struct error *err);

#define cleanup_model_config __attribute__((cleanup(model_config_done)))

#endif
