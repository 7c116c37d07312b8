#include "trainer/app/options/recipe.h"

#include "common/text/nearest.h"

#include <string.h>

/* Goyal et al., Accurate, Large Minibatch SGD (2017): 90 epochs, learning rate divided by 10 at
 * epochs 30, 60 and 80, five epochs of warm-up, no decay of norms and biases, residual blocks that
 * start as identities. */
static const struct model_setting IMAGENET_90[] = {
    {"epochs", "90"},       {"lr", "0.1"},
    {"lr-batch", "256"},    {"schedule", "step"},
    {"warmup-epochs", "5"}, {"momentum", "0.9"},
    {"nesterov", "true"},   {"weight-decay", "0.0001"},
    {"decay-all", "false"}, {"zero-gamma", "true"},
    {NULL, NULL},
};

#define MASKRCNN                                                                                   \
    { "model", "maskrcnn_resnet50_fpn" }

/* The schedule known as 1x: 12 epochs of 16 images a step. */
static const struct model_setting COCO_1X[] = {
    MASKRCNN,
    {"epochs", "12"},
    {"lr", "0.02"},
    {"lr-batch", "16"},
    {"schedule", "milestones"},
    {"milestones", "8,11"},
    {"warmup-steps", "1000"},
    {"warmup-from", "0.001"},
    {NULL, NULL},
};

/* SageMaker's example of Mask R-CNN in TensorFlow (aws-samples/mask-rcnn-tensorflow): 24 epochs
 * with gradient clipping. Warm-up starts at a rate of 0.0033, written here as its share of the
 * peak at 8 images a step. */
static const struct model_setting AWS_24[] = {
    MASKRCNN,
    {"epochs", "24"},
    {"lr", "0.0125"},
    {"lr-batch", "8"},
    {"schedule", "milestones"},
    {"milestones", "16,20"},
    {"warmup-steps", "1000"},
    {"warmup-from", "0.264"},
    {"clip-norm", "0.36"},
    {NULL, NULL},
};

/* NVIDIA's submission to MLPerf training v3.1 on eight GPUs (config_DGXH100.sh): 96 images a step,
 * learning rate divided by 10 after 12000 and 16000 steps, 1221 steps an epoch. The target was
 * reached after 14 epochs. */
static const struct model_setting MLPERF[] = {
    MASKRCNN,
    {"preset", "mlperf"},
    {"batch-size", "12"},
    {"epochs", "18"},
    {"lr", "0.12"},
    {"lr-batch", "96"},
    {"schedule", "milestones"},
    {"milestones", "9.828,13.104"},
    {"warmup-steps", "625"},
    {"warmup-from", "0"},
    {NULL, NULL},
};

/* Detectron2 does not decay norms (SOLVER.WEIGHT_DECAY_NORM 0); maskrcnn-benchmark doubles the
 * learning rate of biases and does not decay them (SOLVER.BIAS_LR_FACTOR 2, WEIGHT_DECAY_BIAS
 * 0). */
static const struct model_setting OF_D2[] = {
    {"decay-all", "false"},
    {"decay-biases", "true"},
    {NULL, NULL},
};
static const struct model_setting OF_MLPERF[] = {
    {"decay-all", "false"},
    {"decay-biases", "false"},
    {"bias-rate", "2"},
    {NULL, NULL},
};
static const struct {
    const char *name;
    const struct model_setting *settings;
} PRESETS[] = {{"d2", OF_D2}, {"mlperf", OF_MLPERF}};

const struct model_setting *recipe_of_preset(const char *name) {
    for (size_t i = 0; i < sizeof(PRESETS) / sizeof(PRESETS[0]); i++)
        if (strcmp(PRESETS[i].name, name) == 0)
            return PRESETS[i].settings;
    return NULL;
}

/* The small network on a set of `ringtrain prepare shapes --coco`, as in examples/maskrcnn.sh. Its
 * pictures have few objects: of torchvision's 512 regions and 256 anchors hardly any would be
 * positive. */
static const struct model_setting SHAPES[] = {
    {"model", "maskrcnn_tiny"}, {"batch-size", "4"},
    {"epochs", "30"},           {"lr", "0.03"},
    {"lr-batch", "12"},         {"warmup-steps", "50"},
    {"anchor-samples", "64"},   {"region-samples", "64"},
    {"eval-every", "10"},       {NULL, NULL},
};

static const struct recipe RECIPES[] = {
    {"imagenet-90", MODEL_CLASSIFY, "Goyal et al. 2017: 90 epochs in large batches", IMAGENET_90},
    {"coco-1x", MODEL_DETECT, "12 epochs of COCO, 16 images a step", COCO_1X},
    {"aws-24", MODEL_DETECT, "24 epochs, as in SageMaker's own example", AWS_24},
    {"mlperf", MODEL_DETECT, "18 epochs of 96 images a step, as NVIDIA's in MLPerf", MLPERF},
    {"shapes", MODEL_DETECT, "a small network on drawn shapes, in minutes", SHAPES},
};
enum { RECIPE_COUNT = sizeof(RECIPES) / sizeof(RECIPES[0]) };

const struct recipe *recipe_need(const char *name, struct error *err) {
    char names[256] = "";
    for (size_t i = 0, used = 0; i < RECIPE_COUNT; i++) {
        if (strcmp(RECIPES[i].name, name) == 0)
            return &RECIPES[i];
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                     RECIPES[i].name);
    }
    struct nearest nearest = nearest_begin(name, strlen(name));
    char words[NEAREST_WORDS_MAX];
    for (size_t i = 0; i < RECIPE_COUNT; i++)
        nearest_try(&nearest, RECIPES[i].name);
    (void)error_set(err, EXIT_CODE_USAGE, "--recipe: unknown recipe '%.64s'; expected one of %s%s",
                    name, names, nearest_words(&nearest, words));
    return NULL;
}

const char *recipe_value(const struct recipe *recipe, const char *flag) {
    for (const struct model_setting *s = recipe->settings; s->flag != NULL; s++)
        if (strcmp(s->flag, flag) == 0)
            return s->value;
    return NULL;
}

void recipe_print(FILE *out, unsigned tasks) {
    for (size_t i = 0; i < RECIPE_COUNT; i++)
        if ((RECIPES[i].tasks & tasks) != 0)
            fprintf(out, "  %-16s%s\n", RECIPES[i].name, RECIPES[i].help);
}
