/* Row of the table of networks (models/model.h). With it are the types that describe a network. */
#ifndef TRAINER_MODELS_MODEL_TYPES_H
#define TRAINER_MODELS_MODEL_TYPES_H

#include "common/error.h"
#include "trainer/graph/graph.h"
#include "trainer/models/detect_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tasks, as bits. */
enum model_task { MODEL_CLASSIFY = 1, MODEL_DETECT = 2 };

enum { MODEL_METRICS_MAX = 12 };

enum model_metric_kind {
    METRIC_MEAN, /* a sum over samples, reported divided by their number */
    METRIC_SUM,  /* reported as it is */
};

struct model_metric {
    const char *name; /* in metric lines; NULL ends a list */
    int index;        /* index in "metrics" */
    enum model_metric_kind kind;
    bool of_steps; /* also reported for training steps; these come first in the list */
};

/* The first two of every list: the loss times the number of samples, and that number. */
enum { METRIC_LOSS, METRIC_SAMPLES };

/* A default flag value for a network, which replaces the flag's own. */
struct model_setting {
    const char *flag; /* without "--"; NULL ends a list */
    const char *value;
};

/* For detection networks. */
struct model_objects {
    const char *preset;               /* models/detect_preset.h */
    const struct detect_rules *rules; /* replace the preset's; NULL: the preset's; borrowed */
    int slots;                        /* for the objects of a picture */
    int anchor_samples;               /* training: anchors sampled from a picture for the
                                       * proposals, */
    int region_samples;               /* and regions for the heads; 0: the preset's */
    int64_t image_bytes;              /* bytes of a picture's slot, */
    int64_t mask_bytes;               /* and of a batch's masks */
    int polygons, points;             /* outlines: slots per picture; 0: masks are bitmaps only */
    bool frozen_norms;                /* norms are frozen, */
    int frozen_stages;                /* and so are this many of stem and stages */
};

struct model_options {
    int batch;  /* samples in a step of this rank */
    int height; /* of the network's input, in pixels */
    int width;
    int classes; /* at least 2 */
    bool training;
    bool zero_gamma;  /* the last norm of each residual block starts at 0 */
    enum dtype dtype; /* of activations */
    double label_smoothing;
    double dropout; /* probability of a zero, of activations before the last layers; 0: none */
    float mean[3], std[3]; /* of pixel values in 0..1 */
    int stem_channels; /* channels of the normalized image: 3, or more, padded with zeros; 0: 3 */
    struct model_objects objects;
};

/* Names of weights in files, for networks with more than a classifier's. */
struct model_names {
    const char *body;         /* prefix of the tensors that a classifier has as well; NULL: it is
                               * one */
    const char *const *heads; /* prefixes of the tensors that depend on the classes; NULL ends the
                               * list */
    /* Writes the name that NAME had in older files; false if it is the same. NULL: it is always the
     * same. */
    bool (*old_name)(const char *name, char *ret_old, size_t size);
};

struct model {
    const char *name;
    enum model_task task;
    /* Builds the network in GRAPH, which it initializes: call graph_done in any case. */
    int (*build)(struct graph *graph, const struct model *model,
                 const struct model_options *options, struct error *err);
    int image_size; /* side of the images that it was designed for */
    const struct model_metric *metrics;
    const struct model_setting *settings; /* NULL: none */
    const struct model_names *names;      /* NULL: a classifier's */
};

#endif
