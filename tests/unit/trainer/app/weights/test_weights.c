#include "tests/support/unit.h"
#include "trainer/app/weights/weights.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"

#include <stdio.h>
#include <string.h>

/* One convolution with batch norm: weights of rank 4, vectors, running statistics. */
static void build(struct graph *graph, struct store *store, struct backend **backend) {
    CU_ASSERT_EQUAL_FATAL(ref_open(backend, NULL), 0);
    graph_init(graph, DTYPE_F32, false);
    int x = graph_input(graph, "x", DTYPE_F32, shape_4(1, 4, 4, 2));
    x = graph_conv2d(graph, "conv1", x, 2, 3, (struct op_window){.kernel = 1, .stride = 1});
    struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    (void)graph_keep(graph, graph_batch_norm(graph, "bn1", x, norm), "y");
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(store, *backend, graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(store, 1, NULL), 0);
}

static const struct array *find(const struct weights *w, const char *name) {
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->arrays[i].name, name) == 0)
            return &w->arrays[i];
    return NULL;
}

static void names_and_axes_are_torchvisions(void) {
    struct graph graph;
    struct store store = {0};
    struct backend *backend = NULL;
    build(&graph, &store, &backend);
    cleanup_weights struct weights w = {0};
    CU_ASSERT_EQUAL_FATAL(weights_list(&w, &store, WEIGHTS_MODEL | WEIGHTS_BATCHES, 12, NULL), 0);
    CU_ASSERT_EQUAL(w.count, 6);
    const struct array *conv = find(&w, "conv1.weight");
    CU_ASSERT_PTR_NOT_NULL_FATAL(conv);
    CU_ASSERT(conv->ohwi && conv->rank == 4 && conv->shape[0] == 3 && conv->shape[1] == 2);
    CU_ASSERT(conv->shape[2] == 1 && conv->shape[3] == 1);
    const struct array *mean = find(&w, "bn1.running_mean");
    CU_ASSERT(mean != NULL && mean->rank == 1 && mean->shape[0] == 3 && !mean->ohwi);
    const struct array *seen = find(&w, "bn1.num_batches_tracked");
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
    CU_ASSERT(seen->type == ARRAY_I64 && seen->rank == 0 && *(const int64_t *)seen->data == 12);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

/* They are in the model and its checkpoints, without what only training needs. */
static void constants_have_values_and_no_momentum(void) {
    struct graph graph;
    struct store store = {0};
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 4, 4, 2));
    graph_freeze(&graph, true);
    x = graph_conv2d(&graph, "conv1", x, 2, 3, (struct op_window){.kernel = 1, .stride = 1});
    (void)graph_batch_norm(&graph, "bn1", x, (struct norm_options){1e-5, 0.1, INIT_ONE});
    graph_freeze(&graph, false);
    (void)graph_conv2d(&graph, "conv2", x, 3, 3, (struct op_window){.kernel = 1, .stride = 1});
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&store, backend, &graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&store, 1, NULL), 0);
    cleanup_weights struct weights w = {0};
    CU_ASSERT_EQUAL_FATAL(
        weights_list(&w, &store, WEIGHTS_MODEL | WEIGHTS_OPTIMIZER | WEIGHTS_BATCHES, 12, NULL), 0);
    CU_ASSERT_EQUAL(w.count, 7);
    const struct array *conv = find(&w, "conv1.weight"), *variance = find(&w, "bn1.running_var");
    CU_ASSERT(conv != NULL && conv->ohwi && ((const float *)conv->data)[0] != 0);
    CU_ASSERT(variance != NULL && ((const float *)variance->data)[2] == 1);
    CU_ASSERT_PTR_NOT_NULL(find(&w, "optimizer.momentum.conv2.weight"));
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

/* A linear layer on a picture [2, 3] of 4 channels, and one on each pixel of it. */
static void linear_layers_lie_in_files_as_in_torchs(void) {
    struct graph graph;
    struct store store = {0};
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    graph_init(&graph, DTYPE_F32, true);
    int flat = graph_parameter(&graph, "fc6.weight", shape_4(5, 2, 3, 4), INIT_UNIFORM_FAN_IN, 0);
    int pixel = graph_parameter(&graph, "logits.weight", shape_2(3, 4), INIT_UNIFORM_FAN_IN, 0);
    graph_file(&graph, flat, FILE_MATRIX);
    graph_file(&graph, pixel, FILE_PIXELWISE);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&store, backend, &graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&store, 1, NULL), 0);
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/linear.safetensors", unit_temp_dir());
    cleanup_weights struct weights w = {0};
    CU_ASSERT_EQUAL_FATAL(weights_list(&w, &store, WEIGHTS_MODEL, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, w.arrays, w.count, NULL, 0, NULL), 0);
    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, NULL), 0);
    const struct safetensors_entry *matrix = safetensors_find(&file, "fc6.weight");
    CU_ASSERT(matrix != NULL && matrix->rank == 2 && matrix->shape[0] == 5);
    CU_ASSERT_EQUAL(matrix->shape[1], 24);
    const struct safetensors_entry *conv = safetensors_find(&file, "logits.weight");
    CU_ASSERT(conv != NULL && conv->rank == 4 && conv->shape[0] == 3 && conv->shape[1] == 4);
    CU_ASSERT(conv->shape[2] == 1 && conv->shape[3] == 1);
    /* Output 3, channel 2, row 1, column 0 there is row 1, column 0, channel 2 here. */
    float values[5 * 24];
    struct array plain = {
        .name = "fc6.weight", .type = ARRAY_F32, .rank = 2, .shape = {5, 24}, .data = values};
    CU_ASSERT_EQUAL_FATAL(safetensors_read(&file, &plain, NULL), 0);
    float *here = store_at(&store, store_find(&store, "fc6.weight"), STORE_PARAMETERS);
    CU_ASSERT_EQUAL(values[3 * 24 + (2 * 2 + 1) * 3 + 0], here[((3 * 2 + 1) * 3 + 0) * 4 + 2]);
    float before = here[50];
    memset(here, 0, 120 * sizeof(float));
    CU_ASSERT_EQUAL(weights_read(&w, &file, NULL), 0);
    CU_ASSERT(before != 0 && here[50] == before);
    graph_file(&graph, pixel, FILE_MATRIX);
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, "logits.weight does not have the 4 axes");
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

static void a_file_brings_back_every_value(void) {
    struct graph graph;
    struct store store = {0};
    struct backend *backend = NULL;
    build(&graph, &store, &backend);
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/weights.safetensors", unit_temp_dir());
    cleanup_weights struct weights w = {0};
    CU_ASSERT_EQUAL_FATAL(weights_list(&w, &store, WEIGHTS_MODEL, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, w.arrays, w.count, NULL, 0, NULL), 0);
    float *values = store.arena[STORE_PARAMETERS];
    float before[6];
    memcpy(before, store_at(&store, store_find(&store, "conv1.weight"), STORE_PARAMETERS),
           sizeof(before));
    memset(values, 0, store.count[STORE_PARAMETERS] * sizeof(float));

    cleanup_safetensors struct safetensors file = {0};
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, NULL), 0);
    CU_ASSERT_EQUAL(weights_read(&w, &file, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(before,
                           store_at(&store, store_find(&store, "conv1.weight"), STORE_PARAMETERS),
                           sizeof(before)),
                    0);
    CU_ASSERT(before[0] != 0);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

UNIT_SUITE("app.weights", UNIT(names_and_axes_are_torchvisions),
           UNIT(constants_have_values_and_no_momentum),
           UNIT(linear_layers_lie_in_files_as_in_torchs), UNIT(a_file_brings_back_every_value))
