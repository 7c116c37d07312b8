#include "trainer/models/model.h"

#include "common/table.h"
#include "common/text/nearest.h"
#include "trainer/graph/op_roi.h"
#include "trainer/models/detector_names.h"
#include "trainer/models/inception.h"
#include "trainer/models/maskrcnn.h"
#include "trainer/models/resnet.h"
#include "trainer/models/vgg.h"

#include <stdio.h>
#include <string.h>

/* The table MODELS is the only list of networks: help, error messages, manual and the
 * documentation's table are all made from it. Adding a row here is enough to make a network
 * known to every command.
 *
 * The table holds no default for most flags. A network's list of settings is laid over the
 * flags' own defaults; the lists of an optimizer, a preset and a recipe, and then the command
 * line, override it (app/options/options_parse.c). */

const double MODEL_MEAN[3] = {0.485, 0.456, 0.406};
const double MODEL_STD[3] = {0.229, 0.224, 0.225};

/* Metrics of a classifier: each index selects an element of the tensor "metrics" (enum
 * loss_metric). The share top5 is reported for evaluations only, so it follows those of steps. */
static const struct model_metric OF_CLASSES[] = {
    [METRIC_LOSS] = {"loss", LOSS_SUM, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", LOSS_WEIGHT, METRIC_SUM, true},
    {"top1", LOSS_TOP1, METRIC_MEAN, true},
    {"top5", LOSS_TOP5, METRIC_MEAN, false},
    {NULL, 0, METRIC_SUM, false},
};

/* Metrics of a detector, by enum detect_metric. The five parts of the loss have torchvision's
 * names. A part is a sum over pictures in the tensor, as the total is, and is divided by their
 * number when it is reported. */
static const struct model_metric OF_OBJECTS[] = {
    [METRIC_LOSS] = {"loss", DETECT_LOSS, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", DETECT_IMAGES, METRIC_SUM, true},
    {"loss_classifier", DETECT_LOSS_CLASSIFIER, METRIC_MEAN, true},
    {"loss_box_reg", DETECT_LOSS_BOX_REG, METRIC_MEAN, true},
    {"loss_mask", DETECT_LOSS_MASK, METRIC_MEAN, true},
    {"loss_objectness", DETECT_LOSS_OBJECTNESS, METRIC_MEAN, true},
    {"loss_rpn_box_reg", DETECT_LOSS_RPN_BOX_REG, METRIC_MEAN, true},
    {"label_accuracy", DETECT_ACCURACY, METRIC_MEAN, true},
    {"foreground_regions", DETECT_POSITIVES, METRIC_SUM, true},
    {NULL, 0, METRIC_SUM, false},
};

/* torchvision's reference training (references/detection): 26 epochs of 16 images a step. */
static const struct model_setting OF_MASKRCNN[] = {
    {"batch-size", "2"},
    {"lr", "0.02"},
    {"lr-batch", "16"},
    {"epochs", "26"},
    {"schedule", "milestones"},
    {"milestones", "16,22"},
    {"warmup-steps", "1000"},
    {"warmup-from", "0.001"},
    {NULL, NULL},
};
/* torchvision's. */
static const struct model_setting OF_VGG[] = {{"dropout", "0.5"}, {NULL, NULL}};
static const struct model_setting OF_INCEPTION[] = {{"dropout", "0.5"}, {NULL, NULL}};
/* Settings for the small detector on small pictures. A "lr-batch" of 0 turns the linear scaling
 * of the learning rate off, so the rate is 0.02 for any number of ranks. */
static const struct model_setting OF_TINY[] = {
    {"batch-size", "4"},    {"lr", "0.02"},           {"lr-batch", "0"},
    {"short-side", "128"},  {"long-side", "192"},     {"epochs", "20"},
    {"warmup-steps", "50"}, {"warmup-from", "0.001"}, {NULL, NULL},
};

/* Adapters from the options that all networks share to a family's own configuration. The numbers
 * of the tensors that the families return are dropped here: callers find inputs and outputs by
 * name. */
static int build_maskrcnn(struct graph *graph, const struct model *model,
                          const struct model_options *o, struct error *err) {
    struct maskrcnn_tensors tensors;
    struct maskrcnn_config config = {
        .model = model->name,
        .preset = o->objects.preset,
        .rules = o->objects.rules,
        .batch = o->batch,
        .canvas_h = o->height,
        .canvas_w = o->width,
        .classes = o->classes,
        .objects = o->objects.slots,
        .anchor_samples = o->objects.anchor_samples,
        .region_samples = o->objects.region_samples,
        .image_bytes = o->objects.image_bytes,
        .mask_bytes = o->objects.mask_bytes,
        .polygons = o->objects.polygons,
        .points = o->objects.points,
        .training = o->training,
        .frozen_norms = o->objects.frozen_norms,
        .frozen_stages = o->objects.frozen_stages,
        .dtype = o->dtype,
        .stem_channels = o->stem_channels,
    };
    memcpy(config.mean, o->mean, sizeof(config.mean));
    memcpy(config.std, o->std, sizeof(config.std));
    return maskrcnn_build(graph, &config, &tensors, err);
}

/* A residual network takes square pictures only: the height is the side, and the width is not
 * looked at. */
static int build_resnet(struct graph *graph, const struct model *model,
                        const struct model_options *o, struct error *err) {
    struct resnet_tensors tensors;
    struct resnet_config config = {
        .model = model->name,
        .batch = o->batch,
        .image_size = o->height,
        .classes = o->classes,
        .training = o->training,
        .zero_gamma = o->zero_gamma,
        .dtype = o->dtype,
        .label_smoothing = o->label_smoothing,
        .dropout = o->dropout,
        .stem_channels = o->stem_channels,
    };
    memcpy(config.mean, o->mean, sizeof(config.mean));
    memcpy(config.std, o->std, sizeof(config.std));
    return resnet_build(graph, &config, &tensors, err);
}

/* SIDE is what --image-size defaults to. Detectors have no such side, as their canvas follows
 * from --short-side and --long-side. */
#define CLASSIFIER(name_, build_, side_)                                                           \
    {                                                                                              \
        .name = (name_), .task = MODEL_CLASSIFY, .build = (build_), .image_size = (side_),         \
        .metrics = OF_CLASSES                                                                      \
    }
#define RESNET(name_, side_) CLASSIFIER("resnet" #name_, build_resnet, side_)

/* Depths up to 152 with a side of 224 are the networks for ImageNet; those with a side of 32 are
 * the ones for CIFAR (He et al. 2015, section 4.2). */
static const struct model MODELS[] = {
    RESNET(18, 224),
    RESNET(34, 224),
    RESNET(50, 224),
    RESNET(101, 224),
    RESNET(152, 224),
    RESNET(20, 32),
    RESNET(32, 32),
    RESNET(44, 32),
    RESNET(56, 32),
    RESNET(110, 32),
    CLASSIFIER("wide_resnet50_2", build_resnet, 224),
    CLASSIFIER("wide_resnet101_2", build_resnet, 224),
    CLASSIFIER("resnext50_32x4d", build_resnet, 224),
    CLASSIFIER("resnext101_32x8d", build_resnet, 224),
    {.name = "vgg16",
     .task = MODEL_CLASSIFY,
     .build = vgg_build,
     .image_size = 224,
     .metrics = OF_CLASSES,
     .settings = OF_VGG},
    {.name = "inception_v3",
     .task = MODEL_CLASSIFY,
     .build = inception_build,
     .image_size = 299,
     .metrics = OF_CLASSES,
     .settings = OF_INCEPTION,
     .names = &INCEPTION_NAMES},
    {.name = "maskrcnn_resnet50_fpn",
     .task = MODEL_DETECT,
     .build = build_maskrcnn,
     .metrics = OF_OBJECTS,
     .names = &DETECTOR_NAMES,
     .settings = OF_MASKRCNN},
    {.name = "maskrcnn_tiny",
     .task = MODEL_DETECT,
     .build = build_maskrcnn,
     .metrics = OF_OBJECTS,
     .names = &DETECTOR_NAMES,
     .settings = OF_TINY},
};
/* NAMES_SIZE holds the names of all rows with room to spare; a longer list would be cut. */
enum { MODEL_COUNT = sizeof(MODELS) / sizeof(MODELS[0]), NAMES_SIZE = 512 };

const struct model *model_find(const char *name) {
    return TABLE_FIND(MODELS, name, name);
}

/* The error also proposes the known names that are near the one given, for a slip of the
 * keyboard. It cuts the given name, which comes from the user, at 64 characters. */
const struct model *model_need(const char *name, struct error *err) {
    const struct model *model = model_find(name);
    if (model != NULL)
        return model;
    char words[NEAREST_WORDS_MAX];
    struct nearest nearest = nearest_begin(name, strlen(name));
    for (size_t i = 0; i < MODEL_COUNT; i++)
        nearest_try(&nearest, MODELS[i].name);
    (void)error_set(err, EXIT_CODE_USAGE, "--model: unknown model '%.64s'; expected one of %s%s",
                    name, model_names(MODEL_CLASSIFY | MODEL_DETECT),
                    nearest_words(&nearest, words));
    return NULL;
}

/* One text for each combination of the two tasks, kept for the life of the program, so that
 * callers need not free it. It is written anew at each call, always with the same bytes. Two
 * threads should nevertheless not call it at once. */
const char *model_names(unsigned tasks) {
    static char names[4][NAMES_SIZE];
    char *text = names[tasks % 4];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < MODEL_COUNT && used < NAMES_SIZE; i++)
        if ((MODELS[i].task & tasks) != 0)
            /* snprintf returns the length that it wanted to write, so a text that does not fit
             * makes USED too large and ends the loop. */
            used += (size_t)snprintf(text + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "",
                                     MODELS[i].name);
    return text;
}

const char *model_task_name(enum model_task task) {
    return task == MODEL_DETECT ? "detect" : "classify";
}

/* The metrics of steps come first in each list, so the count of them is the length of the list's
 * beginning, and callers can use the same index for both. */
int model_metric_count(const struct model *model, bool of_steps) {
    int count = 0;
    while (model->metrics[count].name != NULL && (!of_steps || model->metrics[count].of_steps))
        count++;
    return count;
}
