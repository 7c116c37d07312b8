#include "trainer/models/backbone.h"

#include "trainer/graph/build/build.h"

#include <stdio.h>

static const double MOMENTUM = 0.1;
enum { EXPANSION = 4, NAME_SIZE = TENSOR_NAME_SIZE - 32 };

/* Position of a block: "layer2.0", its channels and stride. */
struct block {
    const struct backbone *backbone;
    char name[NAME_SIZE];
    int64_t inputs, channels, outputs;
    int stride;
};

int64_t backbone_channels(const struct backbone_family *family, int stage) {
    return ((int64_t)family->channels << stage) * (family->bottleneck ? EXPANSION : 1);
}

static int64_t inner_channels(const struct backbone_family *family, int stage) {
    return ((int64_t)family->channels << stage) * (family->widening > 0 ? family->widening : 1);
}

static int norm(struct graph *graph, const struct backbone *backbone, const char *name, int x,
                enum tensor_init gamma) {
    const bool frozen = graph->frozen;
    struct norm_options options = {
        .epsilon = backbone->epsilon, .momentum = MOMENTUM, .gamma = gamma};
    graph_freeze(graph, frozen || backbone->frozen_norms);
    x = graph_batch_norm(graph, name, x, options);
    graph_freeze(graph, frozen);
    return x;
}

/* Adds convolution NUMBER of BLOCK and the norm after it. */
static int conv_norm(struct graph *graph, const struct block *block, int number, int x,
                     int64_t inputs, int64_t outputs, struct op_window window,
                     enum tensor_init gamma) {
    char name[TENSOR_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%s.conv%d", block->name, number);
    x = graph_conv2d(graph, name, x, inputs, outputs, window);
    (void)snprintf(name, sizeof(name), "%s.bn%d", block->name, number);
    return norm(graph, block->backbone, name, x, gamma);
}

static int shortcut(struct graph *graph, const struct block *block, int x) {
    if (block->stride == 1 && block->inputs == block->outputs)
        return x;
    char name[TENSOR_NAME_SIZE];
    struct op_window window = {.kernel = 1, .stride = block->stride};
    (void)snprintf(name, sizeof(name), "%s.downsample.0", block->name);
    x = graph_conv2d(graph, name, x, block->inputs, block->outputs, window);
    (void)snprintf(name, sizeof(name), "%s.downsample.1", block->name);
    return norm(graph, block->backbone, name, x, INIT_ONE);
}

static int residual_block(struct graph *graph, const struct block *block, int x) {
    const enum tensor_init last = block->backbone->zero_gamma ? INIT_ZERO : INIT_ONE;
    struct op_window one = {.kernel = 1, .stride = 1};
    struct op_window three = {.kernel = 3, .stride = 1, .pad = 1};
    struct op_window strided = {.kernel = 3, .stride = block->stride, .pad = 1};
    struct op_window first = one, second = strided;
    int64_t inner = block->channels;
    int y;
    if (block->backbone->stride_first) {
        first.stride = block->stride;
        second = three;
    }
    second.groups = block->backbone->family->groups;
    if (block->backbone->family->bottleneck) {
        y = graph_relu(graph, conv_norm(graph, block, 1, x, block->inputs, inner, first, INIT_ONE));
        y = graph_relu(graph, conv_norm(graph, block, 2, y, inner, inner, second, INIT_ONE));
        y = conv_norm(graph, block, 3, y, inner, block->outputs, one, last);
    } else {
        y = conv_norm(graph, block, 1, x, block->inputs, inner, strided, INIT_ONE);
        y = conv_norm(graph, block, 2, graph_relu(graph, y), inner, inner, three, last);
    }
    return graph_relu(graph, graph_add(graph, y, shortcut(graph, block, x)));
}

static int stem(struct graph *graph, const struct backbone *backbone, int x) {
    const struct backbone_family *family = backbone->family;
    struct op_window window = {.kernel = 7, .stride = 2, .pad = 3};
    char name[TENSOR_NAME_SIZE];
    if (family->cifar)
        window = (struct op_window){.kernel = 3, .stride = 1, .pad = 1};
    (void)snprintf(name, sizeof(name), "%sconv1", backbone->prefix);
    x = graph_conv2d(graph, name, x, 3, family->channels, window);
    (void)snprintf(name, sizeof(name), "%sbn1", backbone->prefix);
    x = graph_relu(graph, norm(graph, backbone, name, x, INIT_ONE));
    if (family->cifar)
        return x;
    return graph_max_pool(graph, x, (struct op_window){.kernel = 3, .stride = 2, .pad = 1});
}

static int stage(struct graph *graph, const struct backbone *backbone, int number, int64_t inputs,
                 int x) {
    const struct backbone_family *family = backbone->family;
    for (int i = 0; i < family->blocks[number]; i++) {
        struct block block = {.backbone = backbone,
                              .inputs = i == 0 ? inputs : backbone_channels(family, number),
                              .channels = inner_channels(family, number),
                              .outputs = backbone_channels(family, number),
                              .stride = i == 0 && number > 0 ? 2 : 1};
        (void)snprintf(block.name, sizeof(block.name), "%slayer%d.%d", backbone->prefix, number + 1,
                       i);
        x = residual_block(graph, &block, x);
    }
    return x;
}

void backbone_build(struct graph *graph, const struct backbone *backbone, int x,
                    int ret_stages[BACKBONE_STAGES]) {
    const struct backbone_family *family = backbone->family;
    const bool frozen = graph->frozen;
    int64_t inputs = family->channels;
    graph_freeze(graph, frozen || backbone->frozen_stages > 0);
    x = stem(graph, backbone, x);
    for (int i = 0; i < BACKBONE_STAGES; i++) {
        ret_stages[i] = TENSOR_NONE;
        if (family->blocks[i] == 0)
            continue;
        graph_freeze(graph, frozen || backbone->frozen_stages > i + 1);
        x = stage(graph, backbone, i, inputs, x);
        ret_stages[i] = x;
        inputs = backbone_channels(family, i);
    }
    graph_freeze(graph, frozen);
}
