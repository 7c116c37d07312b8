#include "models/resnet.h"

#include <stdio.h>
#include <string.h>

enum { STAGES_MAX = 4 };

struct family {
    const char *name;
    bool bottleneck; /* 1x1, 3x3, 1x1 with four times the channels; else two 3x3 */
    bool cifar;      /* 3x3 stem without pool, three stages from 16 channels */
    int blocks[STAGES_MAX];
};

static const struct family families[] = {
    {"resnet18", false, false, {2, 2, 2, 2}},  {"resnet34", false, false, {3, 4, 6, 3}},
    {"resnet50", true, false, {3, 4, 6, 3}},   {"resnet101", true, false, {3, 4, 23, 3}},
    {"resnet152", true, false, {3, 8, 36, 3}}, {"resnet20", false, true, {3, 3, 3, 0}},
    {"resnet32", false, true, {5, 5, 5, 0}},   {"resnet44", false, true, {7, 7, 7, 0}},
    {"resnet56", false, true, {9, 9, 9, 0}},   {"resnet110", false, true, {18, 18, 18, 0}},
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static const double EPSILON = 1e-5, MOMENTUM = 0.1;
enum { EXPANSION = 4, IMAGE_SIZE_MIN = 8, IMAGE_SIZE_MAX = 4096, CLASSES_MAX = 1 << 20 };

static const struct family *find_family(const char *model) {
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(families[i].name, model) == 0)
            return &families[i];
    return NULL;
}

bool resnet_known(const char *model) {
    return find_family(model) != NULL;
}

const char *resnet_names(void) {
    return "resnet18, resnet34, resnet50, resnet101, resnet152, "
           "resnet20, resnet32, resnet44, resnet56, resnet110";
}

int resnet_default_image_size(const char *model) {
    const struct family *family = find_family(model);
    return family != NULL && family->cifar ? 32 : 224;
}

/* A block's place: "layer2.0", its channels and stride. */
struct block {
    char name[TENSOR_NAME_SIZE - 32];
    int64_t inputs, channels, outputs;
    int stride;
};

static int norm(struct graph *graph, const char *name, int x, enum tensor_init gamma) {
    struct norm_options options = {.epsilon = EPSILON, .momentum = MOMENTUM, .gamma = gamma};
    return graph_batch_norm(graph, name, x, options);
}

/* Convolution number NUMBER of BLOCK and the norm behind it. */
static int conv_norm(struct graph *graph, const struct block *block, int number, int x,
                     int64_t inputs, int64_t outputs, struct op_window window,
                     enum tensor_init gamma) {
    char name[TENSOR_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%s.conv%d", block->name, number);
    x = graph_conv2d(graph, name, x, inputs, outputs, window);
    (void)snprintf(name, sizeof(name), "%s.bn%d", block->name, number);
    return norm(graph, name, x, gamma);
}

static int shortcut(struct graph *graph, const struct block *block, int x) {
    if (block->stride == 1 && block->inputs == block->outputs)
        return x;
    char name[TENSOR_NAME_SIZE];
    struct op_window window = {.kernel = 1, .stride = block->stride};
    (void)snprintf(name, sizeof(name), "%s.downsample.0", block->name);
    x = graph_conv2d(graph, name, x, block->inputs, block->outputs, window);
    (void)snprintf(name, sizeof(name), "%s.downsample.1", block->name);
    return norm(graph, name, x, INIT_ONE);
}

static int residual_block(struct graph *graph, const struct block *block, bool bottleneck,
                          enum tensor_init last_gamma, int x) {
    struct op_window one = {.kernel = 1, .stride = 1};
    struct op_window three = {.kernel = 3, .stride = 1, .pad = 1};
    struct op_window strided = {.kernel = 3, .stride = block->stride, .pad = 1};
    int64_t inner = block->channels;
    int y;
    if (bottleneck) {
        y = graph_relu(graph, conv_norm(graph, block, 1, x, block->inputs, inner, one, INIT_ONE));
        y = graph_relu(graph, conv_norm(graph, block, 2, y, inner, inner, strided, INIT_ONE));
        y = conv_norm(graph, block, 3, y, inner, block->outputs, one, last_gamma);
    } else {
        y = conv_norm(graph, block, 1, x, block->inputs, inner, strided, INIT_ONE);
        y = conv_norm(graph, block, 2, graph_relu(graph, y), inner, inner, three, last_gamma);
    }
    return graph_relu(graph, graph_add(graph, y, shortcut(graph, block, x)));
}

static int stem(struct graph *graph, const struct family *family, int x) {
    struct op_window window = {.kernel = 7, .stride = 2, .pad = 3};
    if (family->cifar)
        window = (struct op_window){.kernel = 3, .stride = 1, .pad = 1};
    x = graph_conv2d(graph, "conv1", x, 3, family->cifar ? 16 : 64, window);
    x = graph_relu(graph, norm(graph, "bn1", x, INIT_ONE));
    if (family->cifar)
        return x;
    return graph_max_pool(graph, x, (struct op_window){.kernel = 3, .stride = 2, .pad = 1});
}

static int body(struct graph *graph, const struct family *family, bool zero_gamma, int x) {
    int64_t channels = family->cifar ? 16 : 64;
    int64_t inputs = channels;
    for (int stage = 0; stage < STAGES_MAX; stage++, channels *= 2) {
        for (int i = 0; i < family->blocks[stage]; i++) {
            struct block block = {.inputs = inputs,
                                  .channels = channels,
                                  .outputs = family->bottleneck ? channels * EXPANSION : channels,
                                  .stride = i == 0 && stage > 0 ? 2 : 1};
            (void)snprintf(block.name, sizeof(block.name), "layer%d.%d", stage + 1, i);
            x = residual_block(graph, &block, family->bottleneck, zero_gamma ? INIT_ZERO : INIT_ONE,
                               x);
            inputs = block.outputs;
        }
    }
    return x;
}

static int check(const struct resnet_config *config, struct error *err) {
    if (!resnet_known(config->model))
        return error_set(err, EXIT_CODE_USAGE, "model '%s' is none of %s", config->model,
                         resnet_names());
    if (config->image_size < IMAGE_SIZE_MIN || config->image_size > IMAGE_SIZE_MAX)
        return error_set(err, EXIT_CODE_USAGE, "image size %d is not within %d to %d",
                         config->image_size, IMAGE_SIZE_MIN, IMAGE_SIZE_MAX);
    if (config->classes < 2 || config->classes > CLASSES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d classes are not within 2 to %d", config->classes,
                         CLASSES_MAX);
    if (config->batch < 1)
        return error_set(err, EXIT_CODE_USAGE, "a batch of %d images cannot be", config->batch);
    for (int i = 0; i < 3; i++)
        if (!(config->std[i] > 0))
            return error_set(err, EXIT_CODE_USAGE, "a standard deviation of %g cannot be",
                             (double)config->std[i]);
    return 0;
}

int resnet_build(struct graph *graph, const struct resnet_config *config,
                 struct resnet_tensors *ret_tensors, struct error *err) {
    graph_init(graph, config->dtype, config->training);
    if (check(config, err) != 0)
        return -1;
    const struct family *family = find_family(config->model);
    struct resnet_tensors t;
    t.image = graph_input(graph, "image", DTYPE_U8,
                          shape_4(config->batch, config->image_size, config->image_size, 3));
    t.label = graph_input(graph, "label", DTYPE_I32, shape_1(config->batch));
    t.weight = graph_input(graph, "weight", DTYPE_F32, shape_1(config->batch));
    int channels = config->stem_channels == 0 ? 3 : config->stem_channels;
    int x = graph_image_normalize(graph, t.image, config->mean, config->std, channels);
    x = body(graph, family, config->zero_gamma, stem(graph, family, x));
    x = graph_linear(graph, "fc", graph_global_avg_pool(graph, x), config->classes);
    t.logits = graph_keep(graph, x, "logits");
    int loss =
        graph_softmax_cross_entropy(graph, t.logits, t.label, t.weight, config->label_smoothing);
    t.metrics = graph_keep(graph, loss, "metrics");
    if (graph_finish(graph, err) != 0)
        return error_wrap(err, "%s", config->model);
    *ret_tensors = t;
    return 0;
}
