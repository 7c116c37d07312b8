#include "trainer/models/inception.h"

#include "trainer/graph/build/build.h"

#include <stdio.h>
#include <string.h>

/* Every convolution has its own norm and a ReLU, so a block is a list of steps for each of its
 * branches. The branches are concatenated by channels. Padding keeps a branch's maps at the size
 * of its neighbours, except in blocks B and D, where all branches halve it.
 *
 * Weights are made apart from the operators that use them, because the second classifier has
 * weights in evaluation, too, but no operators. A checkpoint then holds the same tensors either
 * way. */

/* EPSILON is torchvision's, and AUX_WEIGHT the paper's. MOMENTUM is the share of a new batch in the
 * running statistics: torch's default. */
static const double EPSILON = 1e-3, MOMENTUM = 0.1, AUX_WEIGHT = 0.4;
/* At 75 pixels the last blocks still have one pixel. STEP_MAX is the length of the longest
 * branch. */
enum { SIDE_LEAST = 75, SIDE_LEAST_TRAINING = 299, STEP_MAX = 5 };

static const char *const heads[] = {"fc.", "AuxLogits.fc.", NULL};
const struct model_names INCEPTION_NAMES = {.heads = heads};

/* The network under construction. */
struct build {
    struct graph *graph;
    int narrow; /* divisor of all widths: 1, or more in tests */
};

/* A convolution with its norm and ReLU; STRIDE 0: 1. PADDED: as many pixels as before. */
struct step {
    const char *name;
    int outputs, rows, columns; /* of the window */
    int stride;
    bool padded;
};

static struct step step_1x1(const char *name, int outputs) {
    return (struct step){.name = name, .outputs = outputs, .rows = 1, .columns = 1};
}

/* Returns the channels of X. After a failure of the builder X is no tensor, and any width that
 * the rest can be described with will do; graph_finish reports the failure. */
static int64_t channels_of(const struct build *b, int x) {
    return b->graph->failed ? b->narrow : b->graph->tensors[x].shape.dim[3];
}

/* Replaces the initial values that the builder gives a weight. After a failure there is no
 * weight. */
static void start_as(struct graph *graph, int weight, enum tensor_init init) {
    if (weight != TENSOR_NONE)
        graph->tensors[weight].init = init;
}

/* Windows may be taller than wide, or the reverse: `across` has the size and padding of the
 * horizontal axis. */
static struct op_window window_of(const struct step *s) {
    return (struct op_window){.kernel = s->rows,
                              .stride = s->stride == 0 ? 1 : s->stride,
                              .pad = s->padded ? s->rows / 2 : 0,
                              .across = {s->columns, s->padded ? s->columns / 2 : 0}};
}

/* Adds S of BLOCK (NULL: none) to X, which has INPUTS channels; X TENSOR_NONE: its weights
 * alone. */
static int conv_from(struct build *b, const char *block, const struct step *s, int x,
                     int64_t inputs, enum tensor_init init) {
    char conv[TENSOR_NAME_SIZE], norm[TENSOR_NAME_SIZE];
    const char *dot = block == NULL ? "" : ".";
    const struct op_window window = window_of(s);
    const struct norm_options options = {
        .epsilon = EPSILON, .momentum = MOMENTUM, .gamma = INIT_ONE};
    (void)snprintf(conv, sizeof(conv), "%s%s%s.conv", block == NULL ? "" : block, dot, s->name);
    (void)snprintf(norm, sizeof(norm), "%s%s%s.bn", block == NULL ? "" : block, dot, s->name);
    const int64_t outputs = s->outputs / b->narrow;
    const struct graph_weights w =
        graph_conv2d_window_weights(b->graph, conv, inputs, outputs, &window);
    const struct graph_weights n = graph_norm_weights(b->graph, norm, outputs, INIT_ONE);
    start_as(b->graph, w.weight, init);
    if (x == TENSOR_NONE)
        return x;
    x = graph_conv2d_with(b->graph, conv, x, &w, window);
    return graph_relu(b->graph, graph_batch_norm_with(b->graph, norm, x, &n, options));
}

/* Initial values are normal with deviation 0.1. The second classifier calls conv_from instead, as
 * one of its layers starts from smaller values. */
static int conv(struct build *b, const char *block, struct step s, int x) {
    return conv_from(b, block, &s, x, channels_of(b, x), INIT_NORMAL_TENTH);
}

/* Adds the steps up to one without a name, one after another. */
static int branch(struct build *b, const char *block, int x, const struct step *steps) {
    for (int i = 0; i < STEP_MAX && steps[i].name != NULL; i++)
        x = conv(b, block, steps[i], x);
    return x;
}
#define BRANCH(...) branch(b, block, x, (const struct step[STEP_MAX]){__VA_ARGS__})
/* A window that keeps the number of pixels. */
#define KEEPS(name_, outputs_, rows_, columns_)                                                    \
    {                                                                                              \
        .name = (name_), .outputs = (outputs_), .rows = (rows_), .columns = (columns_),            \
        .padded = true                                                                             \
    }
/* A window of stride 2. */
#define HALVES(name_, outputs_)                                                                    \
    { .name = (name_), .outputs = (outputs_), .rows = 3, .columns = 3, .stride = 2 }

/* Concatenates COUNT maps by channels; the order is torchvision's, since later weights depend on
 * it. */
static int beside(struct build *b, const char *block, const int *maps, int count) {
    return graph_concat(b->graph, block, maps, count);
}

static int pool(struct build *b, int x) {
    return graph_max_pool(b->graph, x, (struct op_window){.kernel = 3, .stride = 2});
}

/* Cells outside the picture count as zeros in the mean, as in torch's avg_pool2d with its
 * defaults. */
static int mean(struct build *b, int x) {
    return graph_avg_pool(b->graph, x, (struct op_window){.kernel = 3, .stride = 1, .pad = 1});
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Figure 5 of the paper; POOLED: channels after its mean. */
static int block_a(struct build *b, const char *block, int x, int pooled) {
    int maps[4];
    maps[0] = BRANCH(KEEPS("branch1x1", 64, 1, 1));
    maps[1] = BRANCH(KEEPS("branch5x5_1", 48, 1, 1), KEEPS("branch5x5_2", 64, 5, 5));
    maps[2] = BRANCH(KEEPS("branch3x3dbl_1", 64, 1, 1), KEEPS("branch3x3dbl_2", 96, 3, 3),
                     KEEPS("branch3x3dbl_3", 96, 3, 3));
    maps[3] = conv(b, block, step_1x1("branch_pool", pooled), mean(b, x));
    return beside(b, block, maps, 4);
}

/* Figure 10: halves the maps from 35 x 35 to 17 x 17. */
static int block_b(struct build *b, const char *block, int x) {
    int maps[3];
    maps[0] = BRANCH(HALVES("branch3x3", 384));
    maps[1] = BRANCH(KEEPS("branch3x3dbl_1", 64, 1, 1), KEEPS("branch3x3dbl_2", 96, 3, 3),
                     HALVES("branch3x3dbl_3", 96));
    maps[2] = pool(b, x);
    return beside(b, block, maps, 3);
}

/* Figure 6, with INNER channels between windows of 7. */
static int block_c(struct build *b, const char *block, int x, int inner) {
    int maps[4];
    maps[0] = BRANCH(KEEPS("branch1x1", 192, 1, 1));
    maps[1] = BRANCH(KEEPS("branch7x7_1", inner, 1, 1), KEEPS("branch7x7_2", inner, 1, 7),
                     KEEPS("branch7x7_3", 192, 7, 1));
    maps[2] = BRANCH(KEEPS("branch7x7dbl_1", inner, 1, 1), KEEPS("branch7x7dbl_2", inner, 7, 1),
                     KEEPS("branch7x7dbl_3", inner, 1, 7), KEEPS("branch7x7dbl_4", inner, 7, 1),
                     KEEPS("branch7x7dbl_5", 192, 1, 7));
    maps[3] = conv(b, block, step_1x1("branch_pool", 192), mean(b, x));
    return beside(b, block, maps, 4);
}

/* As figure 10, after windows of 7: halves the maps from 17 x 17 to 8 x 8. */
static int block_d(struct build *b, const char *block, int x) {
    int maps[3];
    maps[0] = BRANCH(KEEPS("branch3x3_1", 192, 1, 1), HALVES("branch3x3_2", 320));
    maps[1] = BRANCH(KEEPS("branch7x7x3_1", 192, 1, 1), KEEPS("branch7x7x3_2", 192, 1, 7),
                     KEEPS("branch7x7x3_3", 192, 7, 1), HALVES("branch7x7x3_4", 192));
    maps[2] = pool(b, x);
    return beside(b, block, maps, 3);
}

/* Figure 7: two of the branches fork into a horizontal and a vertical window, and both results
 * count, so six maps are concatenated. */
static int block_e(struct build *b, const char *block, int x) {
    const int one = BRANCH(KEEPS("branch1x1", 320, 1, 1));
    const int three = BRANCH(KEEPS("branch3x3_1", 384, 1, 1));
    const struct step across = KEEPS("branch3x3_2a", 384, 1, 3);
    const struct step down = KEEPS("branch3x3_2b", 384, 3, 1);
    const int left = conv(b, block, across, three);
    const int right = conv(b, block, down, three);
    const int twice =
        BRANCH(KEEPS("branch3x3dbl_1", 448, 1, 1), KEEPS("branch3x3dbl_2", 384, 3, 3));
    const struct step second_across = KEEPS("branch3x3dbl_3a", 384, 1, 3);
    const struct step second_down = KEEPS("branch3x3dbl_3b", 384, 3, 1);
    int maps[6];
    maps[0] = one;
    maps[1] = left;
    maps[2] = right;
    maps[3] = conv(b, block, second_across, twice);
    maps[4] = conv(b, block, second_down, twice);
    maps[5] = conv(b, block, step_1x1("branch_pool", 192), mean(b, x));
    return beside(b, block, maps, 6);
}

/* --- the network ------------------------------------------------------------------------------ */

/* Up to the maps of 35 x 35. */
static int stem(struct build *b, int x) {
    static const struct step first[STEP_MAX] = {
        HALVES("Conv2d_1a_3x3", 32),
        {.name = "Conv2d_2a_3x3", .outputs = 32, .rows = 3, .columns = 3},
        KEEPS("Conv2d_2b_3x3", 64, 3, 3),
    };
    static const struct step second[STEP_MAX] = {
        KEEPS("Conv2d_3b_1x1", 80, 1, 1),
        {.name = "Conv2d_4a_3x3", .outputs = 192, .rows = 3, .columns = 3},
    };
    /* The picture may have more channels than the weights know. */
    x = conv_from(b, NULL, &first[0], x, 3, INIT_NORMAL_TENTH);
    x = pool(b, branch(b, NULL, x, first + 1));
    return pool(b, branch(b, NULL, x, second));
}

/* Adds NAME, a linear layer on X; X TENSOR_NONE: its weights alone. */
static int linear(struct build *b, const char *name, int x, int64_t inputs, int classes,
                  enum tensor_init init) {
    const struct graph_weights w = graph_linear_weights(b->graph, name, inputs, classes);
    start_as(b->graph, w.weight, init);
    return x == TENSOR_NONE ? x : graph_linear_with(b->graph, name, x, &w);
}

/* Adds the second classifier on X, or without training its weights alone. Returns its logits. */
static int auxiliary(struct build *b, int x, int classes) {
    const bool used = b->graph->training;
    const int64_t inputs = channels_of(b, x);
    const struct step fifth = {.name = "conv1", .outputs = 768, .rows = 5, .columns = 5};
    const struct step first = step_1x1("conv0", 128);
    x = used ? graph_avg_pool(b->graph, x, (struct op_window){.kernel = 5, .stride = 3})
             : TENSOR_NONE;
    x = conv_from(b, "AuxLogits", &first, x, inputs, INIT_NORMAL_TENTH);
    x = conv_from(b, "AuxLogits", &fifth, x, first.outputs / b->narrow, INIT_NORMAL_HUNDREDTH);
    x = used ? graph_global_avg_pool(b->graph, x) : TENSOR_NONE;
    return linear(b, "AuxLogits.fc", x, fifth.outputs / b->narrow, classes, INIT_NORMAL_THOUSANDTH);
}

/* Returns -1 with EXIT_CODE_USAGE. In training the least side is that of the publication: the
 * second classifier pools windows of 5 and then convolves with another window of 5. */
static int check(const struct model_options *o, struct error *err) {
    const int least = o->training ? SIDE_LEAST_TRAINING : SIDE_LEAST;
    if (o->height < least || o->width < least)
        return error_set(err, EXIT_CODE_USAGE,
                         "inception_v3 takes pictures of at least %d pixels%s, not %d", least,
                         o->training ? " in training, which its second classifier needs" : "",
                         o->height < o->width ? o->height : o->width);
    if (o->batch < 1 || o->classes < 2)
        return error_set(err, EXIT_CODE_USAGE,
                         "inception_v3: %d images of %d classes: expected at least 1 image and 2 "
                         "classes",
                         o->batch, o->classes);
    return 0;
}

/* The order of the calls is that of the operators. The second classifier comes where it branches
 * off, between blocks C and D. */
int inception_build_narrow(struct graph *graph, const struct model_options *o, int narrow,
                           struct error *err) {
    struct build own = {.graph = graph, .narrow = narrow}, *b = &own;
    graph_init(graph, o->dtype, o->training);
    if (check(o, err) != 0)
        return -1;
    const struct graph_samples s = graph_labelled_images(graph, o->batch, o->height, o->width);
    int x = graph_image_normalize(graph, s.image, o->mean, o->std,
                                  o->stem_channels == 0 ? 3 : o->stem_channels);
    x = stem(b, x);
    x = block_a(b, "Mixed_5b", x, 32);
    x = block_a(b, "Mixed_5c", x, 64);
    x = block_a(b, "Mixed_5d", x, 64);
    x = block_b(b, "Mixed_6a", x);
    x = block_c(b, "Mixed_6b", x, 128);
    x = block_c(b, "Mixed_6c", x, 160);
    x = block_c(b, "Mixed_6d", x, 160);
    x = block_c(b, "Mixed_6e", x, 192);
    const int aux = auxiliary(b, x, o->classes);
    x = block_d(b, "Mixed_7a", x);
    x = block_e(b, "Mixed_7b", x);
    x = block_e(b, "Mixed_7c", x);
    const int64_t features = channels_of(b, x);
    x = graph_global_avg_pool(graph, x);
    /* Dropout needs a key for each sample as an input, which evaluation does not have. */
    if (o->training && o->dropout > 0)
        x = graph_dropout(graph, x, graph_sample_keys(graph, o->batch), o->dropout, 0);
    x = linear(b, "fc", x, features, o->classes, INIT_NORMAL_TENTH);
    const int logits = graph_keep(graph, x, "logits");
    x = graph_softmax_cross_entropy(graph, logits, s.label, s.weight, o->label_smoothing);
    (void)graph_keep(graph, x, "metrics");
    if (o->training) {
        const int second = graph_keep(graph, aux, "aux_logits");
        x = graph_softmax_cross_entropy_weighted(graph, second, s.label, s.weight,
                                                 o->label_smoothing, AUX_WEIGHT);
        (void)graph_keep(graph, x, "aux_metrics");
    }
    if (graph_finish(graph, err) != 0)
        return error_wrap(err, "inception_v3");
    return 0;
}

int inception_build(struct graph *graph, const struct model *model,
                    const struct model_options *options, struct error *err) {
    (void)model;
    return inception_build_narrow(graph, options, 1, err);
}
