/* Description of a model: how to build the network and how to prepare a picture for it. Stored in
 * config.json of a model directory and in each checkpoint of a training. */
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

/* A named number, interpreted by the network. */
struct model_rule {
    char name[MODEL_RULE_NAME_SIZE];
    double value;
};

enum { MODEL_METRIC_SIZE = 32 };

/* Score of a model that was kept as the best of its training, and its position in the training
 * (run_state.h). */
struct model_score {
    char metric[MODEL_METRIC_SIZE]; /* "top1"; "": it was not kept as the best */
    double value;
    int64_t step, samples, lineage;
};

struct model_config {
    char *model;        /* "resnet18" */
    char **class_names; /* [classes] */
    size_t classes;
    int image_size;  /* side of the network's input, pixels */
    int resize_side; /* short side before the centre crop */
    /* For detection networks, instead of these two: */
    char *preset;          /* preset: "tv"; NULL: a classification network */
    int64_t *category_ids; /* [classes]: the data's category ids, by label from 1 on; -1: none */
    int short_side;        /* length that the short side is scaled to, unless the long one would
                            * exceed... */
    int long_side;         /* ...this; pixels */
    struct model_rule rules[MODEL_RULES_MAX]; /* inference rules (models/detect_rules.h), in nine */
    size_t rule_count;                        /* digits; 0: as the preset says */
    double mean[3];                           /* of pixels scaled to 0..1, RGB */
    double std[3];
    double epochs; /* of its training; 0: unknown */
    struct model_score score;

    /* Set only when read: */
    int64_t version;                 /* checkpoint/format_version.h */
    char weights[MODEL_DIGEST_SIZE]; /* "crc32c:1a2b3c4d"; "": unknown */
    bool sealed;                     /* config.json holds its own checksum */
    char unknown[MODEL_UNKNOWN_MAX]; /* "epocs, widht": keys without a meaning here; "": none */
};

void model_config_done(struct model_config *config);

/* Returns CONFIG as JSON, to be freed; it names WEIGHTS ("": none). JSON needs UTF-8: a class name
 * that is not is an error (EXIT_CODE_DATA) with WHERE in the message. */
int model_config_text(const struct model_config *config, const char *weights, const char *where,
                      char **ret_text, struct error *err);

/* Checks every field; WHERE names ROOT in errors (EXIT_CODE_DATA). RET needs model_config_done
 * only on success. */
int model_config_read(json_t *root, const char *where, struct model_config *ret, struct error *err);

#define cleanup_model_config __attribute__((cleanup(model_config_done)))

#endif
