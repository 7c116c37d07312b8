#include "options/recipe.h"

#include <string.h>

/* Goyal et al., Accurate, Large Minibatch SGD (2017): 90 epochs, a tenth of the rate at 30, 60 and
 * 80, five epochs of warm-up, no decay of norms and biases, blocks that start as identities. */
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

/* The schedule that papers call 1x: 12 epochs of 16 images a step. */
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

/* SageMaker's example with Mask R-CNN in TensorFlow: 24 epochs, clipped. */
static const struct model_setting AWS_24[] = {
    MASKRCNN,
    {"epochs", "24"},
    {"lr", "0.0125"},
    {"lr-batch", "8"},
    {"schedule", "milestones"},
    {"milestones", "16,20"},
    {"warmup-steps", "1000"},
    {"warmup-from", "0.001"},
    {"clip-norm", "0.36"},
    {NULL, NULL},
};

static const struct recipe RECIPES[] = {
    {"imagenet-90", MODEL_CLASSIFY, "Goyal et al. 2017: 90 epochs in large batches", IMAGENET_90},
    {"coco-1x", MODEL_DETECT, "12 epochs of COCO, 16 images a step", COCO_1X},
    {"aws-24", MODEL_DETECT, "24 epochs, as SageMaker's own example", AWS_24},
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
    (void)error_set(err, EXIT_CODE_USAGE, "--recipe: '%.64s' is none of %s", name, names);
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
