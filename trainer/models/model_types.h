/* A row of the table of networks (models/model.h), and what a network is described with. */
#ifndef TRAINER_MODELS_MODEL_TYPES_H
#define TRAINER_MODELS_MODEL_TYPES_H

#include "common/error.h"
#include "trainer/graph/graph.h"
#include "trainer/models/detect_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is learnt; bits. */
enum model_task { MODEL_CLASSIFY = 1, MODEL_DETECT = 2 };

enum { MODEL_METRICS_MAX = 12 };

enum model_metric_kind {
    METRIC_MEAN, /* a sum over samples: told divided by their number */
    METRIC_SUM,  /* told as it is */
};

struct model_metric {
    const char *name; /* in metric lines; NULL ends a list */
    int index;        /* in "metrics" */
    enum model_metric_kind kind;
    bool of_steps; /* told of training steps, too; such come first in the list */
};

/* The first two of every list: the loss that is gone down, times samples, and how many those are.
 */
enum { METRIC_LOSS, METRIC_SAMPLES };

/* A default of the trainer's flags that suits a network, in place of the flag's own. */
struct model_setting {
    const char *flag; /* without "--"; NULL ends a list */
    const char *value;
};

/* For networks that find objects. */
struct model_objects {
    const char *preset;               /* models/detect_preset.h */
    const struct detect_rules *rules; /* in place of the preset's; NULL: those; borrowed */
    int slots;                        /* for objects of a picture */
    int anchor_samples;               /* training: of a picture, that the proposals learn from, */
    int region_samples;               /* and the heads; 0: the preset's */
    int64_t image_bytes;              /* of a picture's slot, */
    int64_t mask_bytes;               /* and of a batch's masks */
    int polygons, points;             /* outlines: slots a picture; 0: masks are bits alone */
    bool frozen_norms;                /* norms as they were given, */
    int frozen_stages;                /* and of stem and stages so many constant */
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
    float mean[3], std[3]; /* of pixel values in 0..1 */
    int stem_channels; /* channels of the normalised image: 3, or more with zeros behind; 0: 3 */
    struct model_objects objects;
};

/* Of weights in files, where they are more than a classifier's. */
struct model_names {
    const char *body;         /* what stands in front of those that a classifier has, too */
    const char *const *heads; /* what depends on the classes begins so; NULL ends the list */
    /* Whether NAME was another one in older files; fills that in. */
    bool (*old_name)(const char *name, char *ret_old, size_t size);
};

struct model {
    const char *name;
    enum model_task task;
    /* Describes the network in GRAPH, which it initialises: call graph_done in any case. */
    int (*build)(struct graph *graph, const struct model *model,
                 const struct model_options *options, struct error *err);
    int image_size; /* side of the images that it was made for */
    const struct model_metric *metrics;
    const struct model_setting *settings; /* NULL: none */
    const struct model_names *names;      /* NULL: a classifier's */
};

#endif
