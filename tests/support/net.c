#include "tests/support/net.h"

#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/math/optimizer.h"
#include "trainer/math/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct resnet_config net_config(const char *model, int batch, int size, bool training) {
    return (struct resnet_config){.model = model,
                                  .batch = batch,
                                  .image_size = size,
                                  .classes = 10,
                                  .training = training,
                                  .dtype = DTYPE_F32,
                                  .mean = {0.5F, 0.5F, 0.5F},
                                  .std = {0.25F, 0.25F, 0.25F}};
}

static int norm(struct graph *graph, const char *prefix, const char *name, int x) {
    char text[TENSOR_NAME_SIZE];
    struct norm_options options = {.epsilon = 1e-5, .momentum = 0.1, .gamma = INIT_ONE};
    (void)snprintf(text, sizeof(text), "%s.%s", prefix, name);
    return graph_batch_norm(graph, text, x, options);
}

static int conv(struct graph *graph, const char *prefix, const char *name, int x, int64_t inputs,
                int64_t outputs, struct op_window window) {
    char text[TENSOR_NAME_SIZE];
    (void)snprintf(text, sizeof(text), "%s.%s", prefix, name);
    return graph_conv2d(graph, text, x, inputs, outputs, window);
}

static int block(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                 int stride) {
    int64_t inner = outputs / 4;
    struct op_window one = {.kernel = 1, .stride = 1};
    struct op_window three = {.kernel = 3, .stride = stride, .pad = 1};
    struct op_window projection = {.kernel = 1, .stride = stride};
    int y = conv(graph, name, "conv1", x, inputs, inner, one);
    y = graph_relu(graph, norm(graph, name, "bn1", y));
    y = conv(graph, name, "conv2", y, inner, inner, three);
    y = graph_relu(graph, norm(graph, name, "bn2", y));
    y = norm(graph, name, "bn3", conv(graph, name, "conv3", y, inner, outputs, one));
    if (inputs != outputs) {
        x = conv(graph, name, "downsample.0", x, inputs, outputs, projection);
        x = norm(graph, name, "downsample.1", x);
    }
    return graph_relu(graph, graph_add(graph, y, x));
}

static int build_bottleneck(struct graph *graph, const struct resnet_config *config,
                            struct resnet_tensors *ret_tensors, struct error *err) {
    graph_init(graph, config->dtype, config->training);
    struct resnet_tensors t;
    t.image = graph_input(graph, "image", DTYPE_U8,
                          shape_4(config->batch, config->image_size, config->image_size, 3));
    t.label = graph_input(graph, "label", DTYPE_I32, shape_1(config->batch));
    t.weight = graph_input(graph, "weight", DTYPE_F32, shape_1(config->batch));
    int64_t width = strcmp(config->model, "wide") == 0 ? 32 : 8;
    int channels = config->stem_channels == 0 ? 3 : config->stem_channels;
    int x = graph_image_normalize(graph, t.image, config->mean, config->std, channels);
    x = conv(graph, "stem", "conv", x, 3, width,
             (struct op_window){.kernel = 3, .stride = 1, .pad = 1});
    x = graph_relu(graph, norm(graph, "stem", "bn", x));
    x = graph_max_pool(graph, x, (struct op_window){.kernel = 3, .stride = 2, .pad = 1});
    x = block(graph, "layer1.0", x, width, 2 * width, 1);
    x = block(graph, "layer1.1", x, 2 * width, 2 * width, 1);
    x = block(graph, "layer2.0", x, 2 * width, 4 * width, 2);
    x = block(graph, "layer2.1", x, 4 * width, 4 * width, 1);
    x = graph_linear(graph, "fc", graph_global_avg_pool(graph, x), config->classes);
    t.logits = graph_keep(graph, x, "logits");
    t.metrics = graph_keep(
        graph,
        graph_softmax_cross_entropy(graph, t.logits, t.label, t.weight, config->label_smoothing),
        "metrics");
    *ret_tensors = t;
    return graph_finish(graph, err);
}

static int build(struct graph *graph, const struct resnet_config *config,
                 struct resnet_tensors *ret_tensors, struct error *err) {
    if (strcmp(config->model, "bottleneck") == 0 || strcmp(config->model, "wide") == 0)
        return build_bottleneck(graph, config, ret_tensors, err);
    return resnet_build(graph, config, ret_tensors, err);
}

static void require(int status, const struct error *err) {
    if (status != 0) {
        printf("%s\n", err->text);
        CU_FAIL_FATAL("a network could not be made or run");
    }
}

void net_build(struct net *net, struct backend *backend, struct resnet_config config) {
    struct error err = {0};
    *net = (struct net){.backend = backend, .config = config};
    if (backend == NULL)
        require(ref_open(&net->backend, &err), &err);
    require(build(&net->graph, &config, &net->tensors, &err), &err);
}

void net_init(struct net *net, struct backend *backend, struct resnet_config config,
              struct compile_options options) {
    struct error err = {0};
    net_build(net, backend, config);
    require(program_compile(&net->program, &net->graph, &net->store, net->backend, &options, &err),
            &err);
}

void net_start(struct net *net) {
    struct error err = {0};
    require(store_start(&net->store, 1, &err), &err);
}

void net_update(struct net *net, float rate, float scale) {
    struct optimizer_step sgd = {.rate = rate, .momentum = 0.9F, .scale = 1 / scale, .nesterov = 1};
    struct store *store = &net->store;
    struct error err = {0};
    void *weights = NULL, *momentum = NULL, *gradients = NULL;
    require(store_pull(store, STORE_PARAMETERS, &weights, &err), &err);
    require(store_pull(store, STORE_MOMENTUM, &momentum, &err), &err);
    require(store_pull(store, STORE_GRADIENTS, &gradients, &err), &err);
    for (size_t i = 0; i < store->count[STORE_PARAMETERS]; i++)
        sgd_update(&sgd, &((float *)weights)[i], &((float *)momentum)[i],
                   ((const float *)gradients)[i]);
    require(store_push(store, STORE_PARAMETERS, &err), &err);
    require(store_push(store, STORE_MOMENTUM, &err), &err);
}

void net_done(struct net *net) {
    program_done(&net->program);
    store_done(&net->store);
    graph_done(&net->graph);
    backend_close(net->backend);
    *net = (struct net){0};
}

static void write_input(struct net *net, const char *name, void *values, size_t bytes) {
    struct error err = {0};
    require(program_write(&net->program, name, values, bytes, &err), &err);
    free(values);
}

void net_fill(struct net *net, uint64_t seed) {
    size_t pixels = (size_t)net->config.image_size * (size_t)net->config.image_size * 3;
    size_t batch = (size_t)net->config.batch;
    uint8_t *image = malloc(batch * pixels);
    int32_t *label = malloc(batch * sizeof(*label));
    float *weight = malloc(batch * sizeof(*weight));
    CU_ASSERT_FATAL(image != NULL && label != NULL && weight != NULL);
    for (size_t n = 0; n < batch; n++) {
        struct random random = random_stream(seed, 0, (uint64_t)n);
        for (size_t i = 0; i < pixels; i++)
            image[n * pixels + i] = (uint8_t)random_below(&random, 256);
        label[n] = (int32_t)random_below(&random, (uint32_t)net->config.classes);
        weight[n] = 1;
    }
    write_input(net, "image", image, batch * pixels);
    write_input(net, "label", label, batch * sizeof(*label));
    write_input(net, "weight", weight, batch * sizeof(*weight));
}

void net_run(struct net *net, const struct program_hooks *hooks) {
    struct error err = {0};
    require(program_run(&net->program, hooks, &err), &err);
}

double net_loss(struct net *net) {
    float metrics[LOSS_METRICS];
    struct error err = {0};
    require(program_read(&net->program, "metrics", metrics, sizeof(metrics), &err), &err);
    return (double)metrics[LOSS_SUM] / (double)metrics[LOSS_WEIGHT];
}

int net_count(const struct net *net, enum op_kind kind) {
    int count = 0;
    for (int i = 0; i < net->graph.op_count; i++)
        count += net->graph.ops[i].kind == kind;
    return count;
}
