#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/program/program.h"
#include "trainer/math/optimizer.h"
#include "trainer/math/random.h"
#include "trainer/models/resnet.h"

#include <math.h>
#include <string.h>

static struct resnet_config config_of(const char *model, int batch, int size, int classes) {
    return (struct resnet_config){.model = model,
                                  .batch = batch,
                                  .image_size = size,
                                  .classes = classes,
                                  .training = true,
                                  .dtype = DTYPE_F32,
                                  .mean = {0.5f, 0.5f, 0.5f},
                                  .std = {0.25f, 0.25f, 0.25f}};
}

/* Tensors and elements of all parameters. */
static void count_parameters(const struct graph *graph, int *ret_tensors, int64_t *ret_elements) {
    *ret_tensors = 0;
    *ret_elements = 0;
    for (int i = 0; i < graph->tensor_count; i++) {
        if (graph->tensors[i].role != TENSOR_PARAMETER)
            continue;
        ++*ret_tensors;
        *ret_elements += tensor_count(&graph->tensors[i]);
    }
}

/* The large models: torchvision's documented num_params. The CIFAR family: the paper's counts of
 * table 6 (0.27 M, 0.46 M, 0.66 M, 0.85 M, 1.7 M) with the projections of option B. */
static void parameter_counts_are_those_of_the_published_models(void) {
    static const struct {
        const char *model;
        int classes, tensors;
        int64_t elements;
    } rows[] = {
        {"resnet18", 1000, 62, 11689512},
        {"resnet34", 1000, 110, 21797672},
        {"resnet50", 1000, 161, 25557032},
        {"resnet101", 1000, 314, 44549160},
        {"resnet152", 1000, 467, 60192808},
        {"resnet20", 10, 65, 272474},
        {"resnet32", 10, 101, 466906},
        {"resnet44", 10, 137, 661338},
        {"resnet56", 10, 173, 855770},
        {"resnet110", 10, 335, 1730714},
        {"wide_resnet50_2", 1000, 161, 68883240},
        {"wide_resnet101_2", 1000, 314, 126886696},
        {"resnext50_32x4d", 1000, 161, 25028904},
        {"resnext101_32x8d", 1000, 314, 88791336},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct resnet_config config =
            config_of(rows[i].model, 2, resnet_default_image_size(rows[i].model), rows[i].classes);
        struct graph graph;
        struct resnet_tensors tensors;
        struct error err = {0};
        int count;
        int64_t elements;
        CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
        count_parameters(&graph, &count, &elements);
        CU_ASSERT_EQUAL(count, rows[i].tensors);
        CU_ASSERT_EQUAL(elements, rows[i].elements);
        graph_done(&graph);
    }
}

static void names_are_those_of_torchvision(void) {
    static const char *const names[] = {"conv1.weight",
                                        "bn1.running_mean",
                                        "layer1.0.conv1.weight",
                                        "layer1.0.downsample.0.weight",
                                        "layer1.0.downsample.1.running_var",
                                        "layer3.5.bn3.bias",
                                        "layer4.2.conv3.weight",
                                        "fc.weight",
                                        "fc.bias"};
    struct resnet_config config = config_of("resnet50", 1, 64, 1000);
    struct graph graph;
    struct resnet_tensors tensors;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CU_ASSERT_NOT_EQUAL(graph_find(&graph, names[i]), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_find(&graph, "layer1.1.downsample.0.weight"), TENSOR_NONE);
    graph_done(&graph);
}

static void the_stride_of_a_bottleneck_lies_in_its_3x3(void) {
    struct resnet_config config = config_of("resnet50", 1, 224, 1000);
    struct graph graph;
    struct resnet_tensors tensors;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    static const struct {
        const char *name;
        int stride;
    } convs[] = {{"layer2.0.conv1", 1}, {"layer2.0.conv2", 2}};
    for (size_t k = 0; k < sizeof(convs) / sizeof(convs[0]); k++) {
        int found = 0;
        for (int i = 0; i < graph.op_count; i++) {
            const struct op *op = &graph.ops[i];
            if (op->kind != OP_CONV2D || strcmp(op->name, convs[k].name) != 0)
                continue;
            CU_ASSERT_EQUAL(op->attr.window.stride, convs[k].stride);
            found++;
        }
        CU_ASSERT_EQUAL(found, 1);
    }
    graph_done(&graph);
}

static void unusable_configurations_are_refused_with_their_value(void) {
    static const struct {
        const char *model;
        int batch, size, classes;
        const char *text;
    } rows[] = {
        {"resnet51", 1, 224, 10, "resnet51"},
        {"resnet50", 0, 224, 10, "batch of 0"},
        {"resnet50", 1, 4, 10, "image size 4"},
        {"resnet50", 1, 224, 1, "1 classes"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct resnet_config config =
            config_of(rows[i].model, rows[i].batch, rows[i].size, rows[i].classes);
        struct graph graph;
        struct resnet_tensors tensors;
        struct error err = {0};
        CU_ASSERT_EQUAL(resnet_build(&graph, &config, &tensors, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, rows[i].text);
        graph_done(&graph);
    }
}

/* --- training on the reference backend ------------------------------------------------------- */

enum { BATCH = 6, SIZE = 8, CLASSES = 3, STEPS = 12 };

/* A class is a colour: with noise, seeded, the same every time. */
static void fill_batch(struct program *program, const struct resnet_tensors *tensors) {
    uint8_t *image = program_address(program, tensors->image);
    int32_t *label = program_address(program, tensors->label);
    float *weight = program_address(program, tensors->weight);
    struct random random = random_stream(3, 0, 0);
    for (int n = 0; n < BATCH; n++) {
        label[n] = n % CLASSES;
        weight[n] = 1;
        for (int i = 0; i < SIZE * SIZE * 3; i++)
            image[n * SIZE * SIZE * 3 + i] =
                (uint8_t)(random_below(&random, 100) + (i % 3 == label[n] ? 150 : 0));
    }
}

static void update(struct store *store) {
    struct optimizer_step sgd = {.rate = 0.05f, .momentum = 0.9f, .scale = 1, .nesterov = 1};
    float *weights = store->arena[STORE_PARAMETERS];
    float *momentum = store->arena[STORE_MOMENTUM];
    const float *gradients = store->arena[STORE_GRADIENTS];
    for (size_t i = 0; i < store->count[STORE_PARAMETERS]; i++)
        sgd_update(&sgd, &weights[i], &momentum[i], gradients[i]);
}

/* Trains for STEPS steps; LOSSES gets the mean loss of each. */
static void train(enum dtype dtype, enum fusion fusion, double *losses, double *last_top1) {
    struct resnet_config config = config_of("resnet20", BATCH, SIZE, CLASSES);
    config.dtype = dtype;
    struct graph graph;
    struct resnet_tensors tensors;
    struct store store = {0};
    struct program program;
    struct backend *backend = NULL;
    struct error err = {0};
    struct compile_options options = {.fusion = fusion};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    CU_ASSERT_EQUAL_FATAL(program_compile(&program, &graph, &store, backend, &options, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&program.plan, &graph, &program.streams, &err), 0);
    CU_ASSERT_EQUAL(store_start(&store, 1, &err), 0);
    fill_batch(&program, &tensors);
    for (int step = 0; step < STEPS; step++) {
        float metrics[LOSS_METRICS];
        store_changed(&store);
        CU_ASSERT_EQUAL_FATAL(program_run(&program, NULL, &err), 0);
        CU_ASSERT_EQUAL(program_read(&program, "metrics", metrics, sizeof(metrics), &err), 0);
        CU_ASSERT_EQUAL(metrics[LOSS_WEIGHT], BATCH);
        losses[step] = (double)metrics[LOSS_SUM] / BATCH;
        *last_top1 = (double)metrics[LOSS_TOP1] / BATCH;
        update(&store);
    }
    program_done(&program);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
}

static void resnet20_learns_a_batch_on_the_reference_backend(void) {
    double losses[STEPS], top1 = 0;
    train(DTYPE_F32, FUSION_NONE, losses, &top1);
    CU_ASSERT(losses[0] > 0.7 && losses[0] < 4);
    CU_ASSERT(losses[STEPS - 1] < 0.2 * losses[0]);
    CU_ASSERT_EQUAL(top1, 1);
}

static void every_fusion_level_gives_the_same_losses(void) {
    double plain[STEPS], top1;
    train(DTYPE_F32, FUSION_NONE, plain, &top1);
    for (enum fusion level = FUSION_NORM; level <= FUSION_CONV; level++) {
        double fused[STEPS];
        train(DTYPE_F32, level, fused, &top1);
        for (int i = 0; i < STEPS; i++)
            CU_ASSERT_DOUBLE_EQUAL(fused[i], plain[i], 2e-3 * plain[0]);
        CU_ASSERT_DOUBLE_EQUAL(fused[0], plain[0], 1e-5 * plain[0]);
    }
}

static void halves_learn_the_batch_too(void) {
    static const struct {
        enum dtype dtype;
        enum fusion fusion;
    } rows[] = {{DTYPE_BF16, FUSION_ALL}, {DTYPE_BF16, FUSION_CONV}, {DTYPE_F16, FUSION_CONV}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double losses[STEPS], top1 = 0;
        train(rows[i].dtype, rows[i].fusion, losses, &top1);
        CU_ASSERT(losses[STEPS - 1] < 0.2 * losses[0]);
        CU_ASSERT_EQUAL(top1, 1);
    }
}

UNIT_SUITE("models.resnet", UNIT(parameter_counts_are_those_of_the_published_models),
           UNIT(names_are_those_of_torchvision), UNIT(the_stride_of_a_bottleneck_lies_in_its_3x3),
           UNIT(unusable_configurations_are_refused_with_their_value),
           UNIT(resnet20_learns_a_batch_on_the_reference_backend),
           UNIT(every_fusion_level_gives_the_same_losses), UNIT(halves_learn_the_batch_too))
