#include "trainer/app/options/recipe.h"

#include "common/table.h"
#include "common/text/nearest.h"
#include "trainer/app/options/recipe_file.h"

#include <inttypes.h>
#include <string.h>

/* A recipe is a list of flags and values, laid below the command line by options_parse.c. It has no
 * code of its own, so that `--recipe NAME --print` shows all of it, and a user can copy it to a
 * file and change it (recipe_file.c). Long lists for classification, with a source for each number,
 * are in recipe_classify.c; those for detection are here.
 *
 * Numbers are those of the source, also where they look odd; what differs from it is listed as a
 * departure. Rates are for the images a step of the source: "lr-batch" says for how many, and the
 * rate is scaled in proportion. 0 there means that it must not be scaled. */

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
static const struct named_settings {
    const char *name;
    const struct model_setting *settings;
} PRESETS[] = {{"d2", OF_D2}, {"mlperf", OF_MLPERF}};

/* "tv" has no row: torchvision decays all weights alike, as the table's defaults do. */
const struct model_setting *recipe_of_preset(const char *name) {
    const struct named_settings *preset = TABLE_FIND(PRESETS, name, name);
    return preset != NULL ? preset->settings : NULL;
}

/* LARS as in MLPerf's reference: norms and biases neither decay nor adapt. AdamW and Adagrad as
 * torch has them; their rates do not follow the batch. */
static const struct model_setting OF_LARS[] = {
    {"decay-all", "false"},
    {NULL, NULL},
};
static const struct model_setting OF_ADAMW[] = {
    {"lr", "0.001"},
    {"lr-batch", "0"},
    {"weight-decay", "0.01"},
    {NULL, NULL},
};
static const struct model_setting OF_ADAGRAD[] = {
    {"lr", "0.01"},
    {"lr-batch", "0"},
    {"weight-decay", "0"},
    {NULL, NULL},
};

/* sgd and larc have no rows: both start from the defaults of the table. */
const struct model_setting *recipe_of_optimizer(const char *name) {
    static const struct named_settings optimizers[] = {
        {"lars", OF_LARS}, {"adamw", OF_ADAMW}, {"adagrad", OF_ADAGRAD}};
    const struct named_settings *optimizer = TABLE_FIND(optimizers, name, name);
    return optimizer != NULL ? optimizer->settings : NULL;
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

#define AWS "aws-samples/deep-learning-models, ResNet-50"

/* Columns are those of struct recipe in recipe.h: name, task, help, source, reported accuracy,
 * images a step, settings, sources, departures and rates. The order is that of --help:
 * classification from large batches to small sets, then detection. */
static const struct recipe RECIPES[] = {
    {"imagenet-90", MODEL_CLASSIFY, "Goyal et al. 2017: 90 epochs in large batches",
     "Goyal et al., arXiv 1706.02677", "top-1 76.3 % with 8192 images a step", 8192,
     recipe_imagenet_90, recipe_goyal_sources, NULL, NULL},
    {"goyal", MODEL_CLASSIFY, "the same with batch and type for 32 GPUs",
     "Goyal et al., arXiv 1706.02677", "top-1 76.3 % with 8192 images a step", 8192, recipe_goyal,
     recipe_goyal_sources, NULL, NULL},
    {"aws-2018", MODEL_CLASSIFY, "90 epochs as in AWS's samples of 2018, up to 64 GPUs",
     AWS " in MXNet", "top-1 75.5 to 75.75 % on 64 GPUs", 16384, recipe_aws_2018,
     recipe_aws_2018_sources, recipe_aws_2018_departures, NULL},
    {"aws-dlami-256", MODEL_CLASSIFY, "90 epochs with LARC, as on 256 GPUs by AWS",
     "AWS Deep Learning AMI, ResNet-50 in TensorFlow on 256 GPUs", "top-1 75.4 %", 65536,
     recipe_aws_dlami_256, recipe_aws_dlami_256_sources, recipe_aws_dlami_256_departures, NULL},
    {"mlperf-resnet", MODEL_CLASSIFY, "LARS, as in MLPerf's reference",
     "mlcommons/training, image_classification/tensorflow2", "top-1 75.9 %, the target", 0,
     recipe_mlperf_resnet, recipe_mlperf_resnet_sources, recipe_mlperf_resnet_departures,
     recipe_mlperf_resnet_rates},
    {"cifar-he", MODEL_CLASSIFY, "He et al. 2015: CIFAR-10 in 164 epochs",
     "He et al., arXiv 1512.03385, section 4.2", "top-1 91.25 % of ResNet-20", 128, recipe_cifar_he,
     recipe_cifar_he_sources, NULL, NULL},
    {"flowers", MODEL_CLASSIFY, "a small set of flowers in 12 epochs",
     "the comparison with PyTorch of docs/trainer/classification.md", "top-1 66.7 to 67.6 %", 96,
     recipe_flowers, recipe_flowers_sources, NULL, NULL},
    {"coco-1x", MODEL_DETECT, "12 epochs of COCO, 16 images a step",
     "mmdetection's schedule_1x.py; detectron2's 1x", NULL, 16, COCO_1X, NULL, NULL, NULL},
    {"aws-24", MODEL_DETECT, "24 epochs, as in SageMaker's own example",
     "aws-samples/mask-rcnn-tensorflow", NULL, 8, AWS_24, NULL, NULL, NULL},
    {"mlperf", MODEL_DETECT, "18 epochs of 96 images a step, as NVIDIA's in MLPerf",
     "NVIDIA's submission to MLPerf training v3.1, config_DGXH100.sh", NULL, 96, MLPERF, NULL, NULL,
     NULL},
    {"shapes", MODEL_DETECT, "a small network on drawn shapes, in minutes", "examples/maskrcnn.sh",
     NULL, 12, SHAPES, NULL, NULL, NULL},
};
/* The column at which sources begin after "--FLAG VALUE"; longer settings push them to the
 * right. */
enum { SOURCE_COLUMN = 32 };
enum { RECIPE_COUNT = TABLE_COUNT(RECIPES) };

/* Returns the recipe in the file PATH; it stays until another one is read. A file may be for any
 * task. */
static const struct recipe *read_file(const char *path, struct error *err) {
    static struct recipe recipe;
    const struct model_setting *settings = recipe_file_read(path, err);
    recipe = (struct recipe){.name = path,
                             .tasks = MODEL_CLASSIFY | MODEL_DETECT,
                             .help = "a file",
                             .source = path,
                             .settings = settings};
    return settings != NULL ? &recipe : NULL;
}

/* Names and paths cannot be confused: a recipe's name has neither '/' nor '.' (recipe_file.h). A
 * list of names that is too long for the message is cut off. */
const struct recipe *recipe_need(const char *name, struct error *err) {
    if (recipe_file_is(name))
        return read_file(name, err);
    const struct recipe *recipe = TABLE_FIND(RECIPES, name, name);
    if (recipe != NULL)
        return recipe;
    char names[512] = "";
    for (size_t i = 0, used = 0; i < RECIPE_COUNT && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 RECIPES[i].name);
    struct nearest nearest = nearest_begin(name, strlen(name));
    char words[NEAREST_WORDS_MAX];
    for (size_t i = 0; i < RECIPE_COUNT; i++)
        nearest_try(&nearest, RECIPES[i].name);
    (void)error_set(err, EXIT_CODE_USAGE, "--recipe: unknown recipe '%.64s'; expected one of %s%s",
                    name, names, nearest_words(&nearest, words));
    return NULL;
}

/* FLAG is spelled as in the table of flags, with '-'. */
const char *recipe_value(const struct recipe *recipe, const char *flag) {
    for (const struct model_setting *s = recipe->settings; s->flag != NULL; s++)
        if (strcmp(s->flag, flag) == 0)
            return s->value;
    return NULL;
}

/* The last row that does not exceed IMAGES counts. The first row is for any number, so it is the
 * answer even if its own number is larger. */
const struct recipe_rate *recipe_rate_for(const struct recipe_rate *rates, int64_t images) {
    const struct recipe_rate *found = rates;
    for (const struct recipe_rate *r = rates; r != NULL && r->lr > 0; r++)
        if (r->images <= images)
            found = r;
    return found;
}

void recipe_print(FILE *out, unsigned tasks) {
    for (size_t i = 0; i < RECIPE_COUNT; i++)
        if ((RECIPES[i].tasks & tasks) != 0)
            fprintf(out, "  %-16s%s\n", RECIPES[i].name, RECIPES[i].help);
}

/* Returns where RECIPE's value for FLAG comes from: the text of its own row, else the source of the
 * recipe as a whole. */
static const char *source_of(const struct recipe *recipe, const char *flag) {
    for (const struct recipe_source *s = recipe->sources; s != NULL && s->flag != NULL; s++)
        if (strcmp(s->flag, flag) == 0)
            return s->text;
    return recipe->source;
}

/* The output can be read back as a recipe file: sources follow a '#', which begins a comment
 * there. */
void recipe_print_flags(FILE *out, const struct recipe *recipe) {
    fprintf(out, "# %s: %s\n# source: %s\n", recipe->name, recipe->help, recipe->source);
    if (recipe->accuracy != NULL)
        fprintf(out, "# the source reports: %s\n", recipe->accuracy);
    if (recipe->images > 0)
        fprintf(out, "# images a step in the source: %" PRId64 "\n", recipe->images);
    for (const char *const *d = recipe->departures; d != NULL && *d != NULL; d++)
        fprintf(out, "# differs from the source: %s\n", *d);
    for (const struct model_setting *s = recipe->settings; s->flag != NULL; s++) {
        int width = fprintf(out, "--%s %s", s->flag, s->value);
        fprintf(out, "%*s# %s\n", width < SOURCE_COLUMN ? SOURCE_COLUMN - width : 1, "",
                source_of(recipe, s->flag));
    }
}
