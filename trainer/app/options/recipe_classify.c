/* Recipes for classification, number by number as their sources have them.
 *
 * Each recipe is up to four lists, which the table in recipe.c refers to by name: settings,
 * sources, departures and rates. A setting without a row in the sources comes from the recipe's
 * source as a whole. Texts of sources name the section of a paper, or the script and the variable
 * in a repository. They are printed by `ringtrain train --recipe NAME --print`.
 *
 * "lr-batch" is the number of images a step that the rate is for, or 0 if the rate does not grow
 * with them. */
#include "trainer/app/options/recipe_rows.h"

/* Goyal et al., Accurate, Large Minibatch SGD (arXiv 1706.02677): 90 epochs, learning rate divided
 * by 10 at epochs 30, 60 and 80, five epochs of warm-up, no decay of norms and biases, residual
 * blocks that start as identities. A macro, because two recipes share these rows and differ in
 * batch and type. The schedule "step" has its three steps at a third, two thirds and eight ninths
 * of the training. */
#define GOYAL                                                                                      \
    {"epochs", "90"}, {"lr", "0.1"}, {"lr-batch", "256"}, {"schedule", "step"},                    \
        {"warmup-epochs", "5"}, {"momentum", "0.9"}, {"nesterov", "true"},                         \
        {"weight-decay", "0.0001"}, {"decay-all", "false"}, {                                      \
        "zero-gamma", "true"                                                                       \
    }

const struct model_setting recipe_imagenet_90[] = {GOYAL, {NULL, NULL}};
const struct model_setting recipe_goyal[] = {
    GOYAL, {"batch-size", "256"}, {"dtype", "f16"}, {NULL, NULL}};
/* Both recipes have these sources; the rows on batch and type apply to the second alone. */
const struct recipe_source recipe_goyal_sources[] = {
    {"epochs", "section 5.1"},
    {"lr", "section 2.1: 0.1 for 256 images a step, in proportion to them"},
    {"schedule", "section 5.1: a tenth at epochs 30, 60 and 80"},
    {"warmup-epochs", "section 2.2"},
    {"momentum", "section 5.1"},
    {"weight-decay", "section 5.1"},
    {"decay-all", "section 5.3"},
    {"zero-gamma", "section 5.1"},
    {"batch-size", "32 GPUs make the paper's 8192 of it"},
    {"dtype", "the paper's is f32; f16 with f32 weights as in Micikevicius et al. 2018"},
    {NULL, NULL},
};

/* The AWS samples of 2018 for 8 to 64 GPUs (aws-samples/deep-learning-models, MXNet:
 * train_resnet50_imagenet.sh, train_imagenet.py). The warm-up starts from a fixed rate, not from a
 * share of the peak, so it is set by warmup-lr. Mean and standard deviation are on a scale from 0
 * to 255. */
const struct model_setting recipe_aws_2018[] = {
    {"model", "resnet50"},
    {"epochs", "90"},
    {"batch-size", "256"},
    {"dtype", "f16"},
    {"loss-scale", "1024"},
    {"lr", "0.1"},
    {"lr-batch", "256"},
    {"schedule", "poly2"},
    {"warmup-epochs", "10"},
    {"warmup-lr", "0.001"},
    {"momentum", "0.9"},
    {"nesterov", "true"},
    {"weight-decay", "0.0001"},
    {"decay-all", "true"},
    {"zero-gamma", "true"},
    {"min-area", "0.08"},
    {"color", "mxnet"},
    {"mean", "123.68,116.779,103.939"},
    {"std", "58.393,57.12,57.375"},
    {NULL, NULL},
};
const struct recipe_source recipe_aws_2018_sources[] = {
    {"batch-size", "train_resnet50_imagenet.sh"},
    {"dtype", "train_resnet50_imagenet.sh"},
    {"lr", "train_resnet50_imagenet.sh: 6.4 for 64 GPUs of 256 images"},
    {"warmup-lr", "train_imagenet.py: from 0.001 whatever the peak"},
    {"decay-all", "MXNet's decays all; TensorFlow's of the same samples not the norms"},
    {"color", "train_imagenet.py: jitter 0.4, lighting 0.1"},
    {"mean", "train_imagenet.py: mean_rgb"},
    {"std", "train_imagenet.py: std_rgb"},
    {NULL, NULL},
};
const char *const recipe_aws_2018_departures[] = {
    "AWS's article names a change of hue; the script changes contrast, and so does --color mxnet",
    NULL,
};

/* ResNet-50 on 256 GPUs by the AWS Deep Learning AMI (train_more_aug.sh,
 * train_imagenet_resnet_hvd.py): LARC on every tensor. The norms of weight and gradient scale each
 * tensor's rate; "trust" is the factor that the script calls larc_eta. */
const struct model_setting recipe_aws_dlami_256[] = {
    {"model", "resnet50"},
    {"epochs", "90"},
    {"batch-size", "256"},
    {"dtype", "f16"},
    {"loss-scale", "256"},
    {"optimizer", "larc"},
    {"trust", "0.013"},
    /* LARC's rate is meant for 65,536 images a step, so it does not follow them. */
    {"lr", "3.7"},
    {"lr-batch", "0"},
    {"schedule", "linear-cosine"},
    {"warmup-epochs", "5"},
    {"warmup-lr", "0.001"},
    {"momentum", "0.977"},
    {"nesterov", "true"},
    {"weight-decay", "0.0005"},
    {"decay-all", "false"},
    {"zero-gamma", "true"},
    {"color", "tf"},
    {"mean", "121,115,100"},
    {"std", "70,68,71"},
    {NULL, NULL},
};
const struct recipe_source recipe_aws_dlami_256_sources[] = {
    {"lr", "train_more_aug.sh: of 65536 images a step, not in proportion to them"},
    {"trust", "train_more_aug.sh: --larc_eta 0.013, clipped at 1"},
    {"schedule", "train_more_aug.sh: linear-cosine with 0.47 periods, alpha 0, beta 1e-5"},
    {"momentum", "train_more_aug.sh"},
    {"loss-scale", "train_more_aug.sh"},
    {"decay-all", "train_imagenet_resnet_hvd.py: not the norms"},
    {"color", "train_more_aug.sh"},
    {"mean", "train_imagenet_resnet_hvd.py: imagenet_mean"},
    {"std", "train_imagenet_resnet_hvd.py: imagenet_std"},
    {NULL, NULL},
};
const char *const recipe_aws_dlami_256_departures[] = {
    "its change of brightness is left out: it adds at most 0.3 to pixels of 0 to 255",
    "it evaluates on the middle 0.8 of width and height, resized to a square; here the shorter "
    "side is scaled to 256 and a square of 224 is cut out",
    NULL,
};

/* MLPerf's reference (mlcommons/training, image_classification/tensorflow2). Its peak and warm-up
 * go by the images a step (recipe_mlperf_resnet_rates); the settings have those of the first row,
 * and a flag of the user's for one of them switches the rule off. */
const struct model_setting recipe_mlperf_resnet[] = {
    {"model", "resnet50"},  {"epochs", "90"},
    {"batch-size", "256"},  {"dtype", "bf16"},
    {"optimizer", "lars"},  {"trust", "0.001"},
    {"lr", "10"},           {"lr-batch", "0"},
    {"lr-end", "0.0001"},   {"schedule", "poly2"},
    {"warmup-epochs", "5"}, {"momentum", "0.9"},
    {"nesterov", "false"},  {"weight-decay", "0.00005"},
    {"decay-all", "false"}, {"label-smoothing", "0.1"},
    {NULL, NULL},
};
const struct recipe_source recipe_mlperf_resnet_sources[] = {
    {"epochs", "the reference leaves them to the run, which ends at 75.9 %"},
    {"batch-size", "64 GPUs make 16384 of it, where --lr changes by itself"},
    {"lr", "lars_util.py: 10 below 16384 images a step, 25 below 32768, else 31.2, by itself"},
    {"warmup-epochs", "lars_util.py: 5 below 32768 images a step, else 25, by itself"},
    {"lr-end", "lars_util.py: end_learning_rate"},
    {"trust", "lars_optimizer.py: eeta"},
    {"decay-all", "lars_optimizer.py: norms and biases neither decay nor adapt"},
    {NULL, NULL},
};
const char *const recipe_mlperf_resnet_departures[] = {
    "its decay after the warm-up is one step longer",
    NULL,
};
/* The steps of lars_util.py: from so many images a step on, this peak and these epochs of warm-up.
 * recipe_rate_for picks the last row that the job's images reach. */
const struct recipe_rate recipe_mlperf_resnet_rates[] = {
    {0, 10, 5},
    {16384, 25, 5},
    {32768, 31.2, 25},
    {0, 0, 0},
};

/* He et al., Deep Residual Learning (arXiv 1512.03385), section 4.2. The paper counts steps, of
 * which 391 make an epoch of 50,000 pictures; the flags have epochs. */
const struct model_setting recipe_cifar_he[] = {
    {"model", "resnet20"},
    {"epochs", "164"},
    {"batch-size", "128"},
    {"dtype", "f32"},
    {"lr", "0.1"},
    {"lr-batch", "0"},
    {"schedule", "milestones"},
    /* Epochs: 391 steps of 128 images each, so 32,000 steps end in epoch 82. */
    {"milestones", "82,123"},
    {"momentum", "0.9"},
    {"nesterov", "false"},
    {"weight-decay", "0.0001"},
    {"decay-all", "true"},
    {"augment", "pad"},
    {"flip", "true"},
    {NULL, NULL},
};
const struct recipe_source recipe_cifar_he_sources[] = {
    {"epochs", "64,000 steps of 128 of 50,000 pictures"},
    {"batch-size", "of the whole job: two GPUs there"},
    {"milestones", "after 32,000 and 48,000 steps"},
    {"augment", "four pixels on each side, then a random crop of 32"},
    {NULL, NULL},
};

/* A small set of flowers at 112 pixels, compared with PyTorch by bench/flowers.sh. */
const struct model_setting recipe_flowers[] = {
    {"model", "resnet18"}, {"image-size", "112"},      {"epochs", "12"},
    {"batch-size", "96"},  {"dtype", "bf16"},          {"lr", "0.05"},
    {"lr-batch", "0"},     {"schedule", "cosine"},     {"warmup-epochs", "1"},
    {"momentum", "0.9"},   {"nesterov", "true"},       {"weight-decay", "0.0005"},
    {"decay-all", "true"}, {"label-smoothing", "0.1"}, {"min-area", "0.25"},
    {"flip", "true"},      {"resize", "128"},          {NULL, NULL},
};
const struct recipe_source recipe_flowers_sources[] = {
    {"batch-size", "of the whole job: three ranks take 32 each"},
    {NULL, NULL},
};
