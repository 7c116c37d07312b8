#include "trainer/models/vgg.h"

#include "trainer/graph/build/build.h"

#include <stdio.h>
#include <string.h>

/* Channels of the convolutions; 0: a pooling layer. */
static const int layers[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                             0,  512, 512, 512, 0,   512, 512, 512, 0};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]), HIDDEN = 4096, POOLS = 5, SIDE = 7 };

/* Returns NAME.NUMBER, as torchvision numbers the members of a sequence. */
static const char *member(char text[TENSOR_NAME_SIZE], const char *name, int number) {
    (void)snprintf(text, TENSOR_NAME_SIZE, "%s.%d", name, number);
    return text;
}

static int parameter(struct graph *graph, const char *layer, const char *part, struct shape shape,
                     enum tensor_init init) {
    char text[TENSOR_NAME_SIZE + 8];
    (void)snprintf(text, sizeof(text), "%s.%s", layer, part);
    return graph_parameter(graph, text, shape, init, 0);
}

static int features(struct graph *graph, int x, int inputs, int narrow) {
    const struct op_window conv = {.kernel = 3, .stride = 1, .pad = 1};
    const struct op_window pool = {.kernel = 2, .stride = 2, .pad = 0};
    int number = 0;
    for (int i = 0; i < LAYERS; i++) {
        char name[TENSOR_NAME_SIZE];
        if (layers[i] == 0) {
            x = graph_max_pool(graph, x, pool);
            number++;
            continue;
        }
        int outputs = layers[i] / narrow;
        x = graph_conv2d_bias(graph, member(name, "features", number), x, inputs, outputs, conv,
                              true);
        inputs = outputs;
        number += 2; /* the ReLU has a number, too */
    }
    return x;
}

/* Adds a layer of the classifier; W is the shape of its weights. */
static int linear(struct graph *graph, int number, int x, struct shape w, bool last) {
    char name[TENSOR_NAME_SIZE];
    member(name, "classifier", number);
    struct graph_weights weights = {
        .weight = parameter(graph, name, "weight", w, INIT_NORMAL_HUNDREDTH),
        .bias = parameter(graph, name, "bias", shape_1(w.dim[0]), INIT_ZERO),
        .mean = TENSOR_NONE,
        .variance = TENSOR_NONE,
    };
    if (w.rank == 4)
        graph_file(graph, weights.weight, FILE_MATRIX);
    return last ? graph_linear_with(graph, name, x, &weights)
                : graph_linear_hidden_with(graph, name, x, &weights, true);
}

static int check(const struct model_options *o, struct error *err) {
    if (o->height >> POOLS != SIDE || o->width >> POOLS != SIDE)
        return error_set(err, EXIT_CODE_USAGE, "vgg16 takes pictures of %d to %d pixels, not %d",
                         SIDE << POOLS, ((SIDE + 1) << POOLS) - 1, o->height);
    if (o->batch < 1 || o->classes < 2)
        return error_set(err, EXIT_CODE_USAGE,
                         "vgg16: %d images of %d classes: expected at least 1 image and 2 classes",
                         o->batch, o->classes);
    return 0;
}

int vgg_build_narrow(struct graph *graph, const struct model_options *o, int narrow,
                     struct error *err) {
    int channels = o->stem_channels == 0 ? 3 : o->stem_channels, hidden = HIDDEN / narrow;
    graph_init(graph, o->dtype, o->training);
    if (check(o, err) != 0)
        return -1;
    const struct graph_samples s = graph_labelled_images(graph, o->batch, o->height, o->width);
    int x = graph_image_normalize(graph, s.image, o->mean, o->std, channels);
    x = features(graph, x, 3, narrow);
    const bool drops = o->training && o->dropout > 0;
    const int key = drops ? graph_sample_keys(graph, o->batch) : TENSOR_NONE;
    x = linear(graph, 0, x, shape_4(hidden, SIDE, SIDE, layers[LAYERS - 2] / narrow), false);
    x = drops ? graph_dropout(graph, x, key, o->dropout, 0) : x;
    x = linear(graph, 3, x, shape_2(hidden, hidden), false);
    x = drops ? graph_dropout(graph, x, key, o->dropout, 1) : x;
    x = linear(graph, 6, x, shape_2(o->classes, hidden), true);
    int logits = graph_keep(graph, x, "logits");
    int loss = graph_softmax_cross_entropy(graph, logits, s.label, s.weight, o->label_smoothing);
    (void)graph_keep(graph, loss, "metrics");
    if (graph_finish(graph, err) != 0)
        return error_wrap(err, "vgg16");
    return 0;
}

int vgg_build(struct graph *graph, const struct model *model, const struct model_options *options,
              struct error *err) {
    (void)model;
    return vgg_build_narrow(graph, options, 1, err);
}
