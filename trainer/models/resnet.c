#include "trainer/models/resnet.h"

#include "common/table.h"
#include "trainer/graph/build/build.h"
#include "trainer/models/backbone.h"

static const struct backbone_family families[] = {
    {"resnet18", false, false, 64, 1, 1, {2, 2, 2, 2}},
    {"resnet34", false, false, 64, 1, 1, {3, 4, 6, 3}},
    {"resnet50", true, false, 64, 1, 1, {3, 4, 6, 3}},
    {"resnet101", true, false, 64, 1, 1, {3, 4, 23, 3}},
    {"resnet152", true, false, 64, 1, 1, {3, 8, 36, 3}},
    {"resnet20", false, true, 16, 1, 1, {3, 3, 3, 0}},
    {"resnet32", false, true, 16, 1, 1, {5, 5, 5, 0}},
    {"resnet44", false, true, 16, 1, 1, {7, 7, 7, 0}},
    {"resnet56", false, true, 16, 1, 1, {9, 9, 9, 0}},
    {"resnet110", false, true, 16, 1, 1, {18, 18, 18, 0}},
    {"wide_resnet50_2", true, false, 64, 2, 1, {3, 4, 6, 3}},
    {"wide_resnet101_2", true, false, 64, 2, 1, {3, 4, 23, 3}},
    {"resnext50_32x4d", true, false, 64, 2, 32, {3, 4, 6, 3}},
    {"resnext101_32x8d", true, false, 64, 4, 32, {3, 4, 23, 3}},
};

static const double EPSILON = 1e-5;
enum { IMAGE_SIZE_MIN = 8, IMAGE_SIZE_MAX = 4096, CLASSES_MAX = 1 << 20 };

static const struct backbone_family *find_family(const char *model) {
    return TABLE_FIND(families, name, model);
}

bool resnet_known(const char *model) {
    return find_family(model) != NULL;
}

const char *resnet_names(void) {
    return "resnet18, resnet34, resnet50, resnet101, resnet152, "
           "resnet20, resnet32, resnet44, resnet56, resnet110, "
           "wide_resnet50_2, wide_resnet101_2, resnext50_32x4d, resnext101_32x8d";
}

int resnet_default_image_size(const char *model) {
    const struct backbone_family *family = find_family(model);
    return family != NULL && family->cifar ? 32 : 224;
}

/* Returns the map of the last stage. */
static int body(struct graph *graph, const struct resnet_config *config, int x) {
    const struct backbone backbone = {.family = find_family(config->model),
                                      .prefix = "",
                                      .epsilon = EPSILON,
                                      .zero_gamma = config->zero_gamma};
    int stages[BACKBONE_STAGES];
    int last = BACKBONE_STAGES - 1;
    backbone_build(graph, &backbone, x, stages);
    while (last > 0 && backbone.family->blocks[last] == 0)
        last--;
    return stages[last];
}

static int check(const struct resnet_config *config, struct error *err) {
    if (!resnet_known(config->model))
        return error_set(err, EXIT_CODE_USAGE, "unknown model '%s'; expected one of %s",
                         config->model, resnet_names());
    if (config->image_size < IMAGE_SIZE_MIN || config->image_size > IMAGE_SIZE_MAX)
        return error_set(err, EXIT_CODE_USAGE, "image size %d: expected %d to %d",
                         config->image_size, IMAGE_SIZE_MIN, IMAGE_SIZE_MAX);
    if (config->classes < 2 || config->classes > CLASSES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d classes: expected 2 to %d", config->classes,
                         CLASSES_MAX);
    if (config->batch < 1)
        return error_set(err, EXIT_CODE_USAGE, "a batch of %d images: expected at least 1",
                         config->batch);
    return 0;
}

int resnet_build(struct graph *graph, const struct resnet_config *config,
                 struct resnet_tensors *ret_tensors, struct error *err) {
    graph_init(graph, config->dtype, config->training);
    if (check(config, err) != 0)
        return -1;
    const struct graph_samples s =
        graph_labelled_images(graph, config->batch, config->image_size, config->image_size);
    struct resnet_tensors t = {.image = s.image, .label = s.label, .weight = s.weight};
    int channels = config->stem_channels == 0 ? 3 : config->stem_channels;
    int x = graph_image_normalize(graph, t.image, config->mean, config->std, channels);
    x = graph_global_avg_pool(graph, body(graph, config, x));
    if (config->training && config->dropout > 0)
        x = graph_dropout(graph, x, graph_sample_keys(graph, config->batch), config->dropout, 0);
    x = graph_linear(graph, "fc", x, config->classes);
    t.logits = graph_keep(graph, x, "logits");
    int loss =
        graph_softmax_cross_entropy(graph, t.logits, t.label, t.weight, config->label_smoothing);
    t.metrics = graph_keep(graph, loss, "metrics");
    if (graph_finish(graph, err) != 0)
        return error_wrap(err, "%s", config->model);
    *ret_tensors = t;
    return 0;
}
