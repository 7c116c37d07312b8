#include "models/model.h"

#include "models/resnet.h"
#include "models/vgg.h"

#include <stdio.h>
#include <string.h>

const double MODEL_MEAN[3] = {0.485, 0.456, 0.406};
const double MODEL_STD[3] = {0.229, 0.224, 0.225};

static const struct model_metric OF_CLASSES[] = {
    [METRIC_LOSS] = {"loss", LOSS_SUM, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", LOSS_WEIGHT, METRIC_SUM, true},
    {"top1", LOSS_TOP1, METRIC_MEAN, false},
    {"top5", LOSS_TOP5, METRIC_MEAN, false},
    {NULL, 0, METRIC_SUM, false},
};

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
        .stem_channels = o->stem_channels,
    };
    memcpy(config.mean, o->mean, sizeof(config.mean));
    memcpy(config.std, o->std, sizeof(config.std));
    return resnet_build(graph, &config, &tensors, err);
}

#define CLASSIFIER(name_, build_, side_)                                                           \
    {                                                                                              \
        .name = (name_), .task = MODEL_CLASSIFY, .build = (build_), .image_size = (side_),         \
        .metrics = OF_CLASSES                                                                      \
    }
#define RESNET(name_, side_) CLASSIFIER("resnet" #name_, build_resnet, side_)

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
    CLASSIFIER("vgg16", vgg_build, 224),
};
enum { MODEL_COUNT = sizeof(MODELS) / sizeof(MODELS[0]), NAMES_SIZE = 512 };

const struct model *model_find(const char *name) {
    for (size_t i = 0; i < MODEL_COUNT; i++)
        if (strcmp(MODELS[i].name, name) == 0)
            return &MODELS[i];
    return NULL;
}

const struct model *model_need(const char *name, struct error *err) {
    const struct model *model = model_find(name);
    if (model == NULL)
        (void)error_set(err, EXIT_CODE_USAGE, "--model: '%.64s' is none of %s", name,
                        model_names(MODEL_CLASSIFY | MODEL_DETECT));
    return model;
}

const char *model_names(unsigned tasks) {
    static char names[4][NAMES_SIZE];
    char *text = names[tasks % 4];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < MODEL_COUNT && used < NAMES_SIZE; i++)
        if ((MODELS[i].task & tasks) != 0)
            used += (size_t)snprintf(text + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "",
                                     MODELS[i].name);
    return text;
}

const char *model_task_name(enum model_task task) {
    return task == MODEL_DETECT ? "detect" : "classify";
}

int model_metric_count(const struct model *model, bool of_steps) {
    int count = 0;
    while (model->metrics[count].name != NULL && (!of_steps || model->metrics[count].of_steps))
        count++;
    return count;
}
