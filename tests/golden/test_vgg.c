/* VGG-16 against torch in f64: logits, loss and every gradient of a narrow one, names and shapes of
 * the whole one. The values come from vgg_torch.py, which says how weights and pictures are made.
 * An error is told in units of the tensor's norm; three times torch's own in f32 is allowed, or the
 * floor. */
#include "backend/backend.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "golden/hashed.h"
#include "graph/program.h"
#include "models/vgg.h"
#include "ref/ref.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROJECTIONS = 8, VALUES_MAX = 64, TEXT_MAX = 1 << 16 };

static const double FORWARD = 1e-5, GRADIENT = 1e-4;

struct golden {
    struct buf text;
    uint64_t seed;
    int batch, side, classes, narrow;
};

static void golden_open(struct golden *g) {
    struct error err = {0};
    unsigned long long seed = 0;
    *g = (struct golden){0};
    buf_init(&g->text, TEXT_MAX);
    CU_ASSERT_EQUAL_FATAL(
        file_read(RINGMASTER_TEST_DATA "/../golden/vgg/vgg16.txt", &g->text, &err), 0);
    const char *line = strstr(buf_text(&g->text), "\ncase ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "\ncase %llu %d %d %d %d", &seed, &g->batch, &g->side,
                                 &g->classes, &g->narrow),
                          5);
    g->seed = seed;
}

/* Behind "KIND NAME " of the file's line; NULL: none. */
static const char *find_line(const struct golden *g, const char *kind, const char *name) {
    char start[128];
    (void)snprintf(start, sizeof(start), "\n%s %s ", kind, name);
    const char *line = strstr(buf_text(&g->text), start);
    return line == NULL ? NULL : line + strlen(start);
}

static double next_number(const char **at) {
    char *end = NULL;
    double number = strtod(*at, &end);
    CU_ASSERT_FATAL(end != *at);
    *at = end;
    return number;
}

static void judge(const char *name, double error, double theirs, double floor) {
    if (!(error <= fmax(floor, 3 * theirs))) {
        printf("%s: error %.3g, torch's f32 has %.3g\n", name, error, theirs);
        CU_FAIL("too far from torch");
    }
}

/* Where element I of the file's order (O, then I, H, W) lies: O, H, W, I. */
static size_t place_of(const struct shape *shape, size_t i) {
    if (shape->rank != 4)
        return i;
    size_t in = (size_t)shape->dim[3], plane = (size_t)(shape->dim[1] * shape->dim[2]);
    return (i / (in * plane) * plane + i % plane) * in + i / plane % in;
}

static void fill_parameters(struct store *store, uint64_t seed) {
    for (int k = 0; k < store->slot_count; k++) {
        const struct store_slot *slot = &store->slots[k];
        float *values = (float *)store->arena[STORE_PARAMETERS] + slot->first;
        double fan_in = (double)slot->count / (double)slot->shape.dim[0];
        double bound = slot->shape.rank == 1 ? 0.1 : sqrt(6 / fan_in);
        for (size_t i = 0; i < slot->count; i++)
            values[place_of(&slot->shape, i)] =
                hashed_uniform(hashed_name(slot->name), seed, i, -bound, bound);
    }
    store_changed(store);
}

static void fill_inputs(struct program *program, const struct golden *g) {
    size_t pixels = (size_t)(g->batch * g->side * g->side * 3);
    uint8_t *image = malloc(pixels);
    int32_t label[VALUES_MAX];
    float weight[VALUES_MAX];
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    for (size_t i = 0; i < pixels; i++)
        image[i] = (uint8_t)(hashed(hashed_name("image"), g->seed, i) >> 56);
    for (int i = 0; i < g->batch; i++) {
        label[i] =
            (int32_t)(hashed(hashed_name("label"), g->seed, (size_t)i) % (uint64_t)g->classes);
        weight[i] = 1;
    }
    size_t samples = (size_t)g->batch;
    CU_ASSERT_EQUAL(program_write(program, "image", image, pixels, NULL), 0);
    CU_ASSERT_EQUAL(program_write(program, "label", label, samples * sizeof(*label), NULL), 0);
    CU_ASSERT_EQUAL(program_write(program, "weight", weight, samples * sizeof(*weight), NULL), 0);
    free(image);
}

static void check_values(const struct golden *g, const char *kind, const float *values, int count,
                         float factor) {
    char number[16];
    (void)snprintf(number, sizeof(number), "%d", count);
    const char *at = find_line(g, kind, number);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    double theirs = next_number(&at), worst = 0, largest = 0;
    for (int i = 0; i < count; i++) {
        double wanted = next_number(&at), apart = fabs(wanted - (double)(values[i] * factor));
        worst = apart <= worst ? worst : apart; /* NaN is worst */
        largest = fmax(largest, fabs(wanted));
    }
    judge(kind, worst / largest, theirs, FORWARD);
}

static void check_gradient(const struct golden *g, const struct store *store,
                           const struct store_slot *slot) {
    const float *values = (const float *)store->arena[STORE_GRADIENTS] + slot->first;
    char stream[128];
    double products[PROJECTIONS] = {0}, squares = 0, worst = 0;
    (void)snprintf(stream, sizeof(stream), "projection %s", slot->name);
    for (size_t i = 0; i < slot->count; i++) {
        double value = (double)values[place_of(&slot->shape, i)];
        uint64_t signs = hashed(hashed_name(stream), 0, i);
        for (int k = 0; k < PROJECTIONS; k++)
            products[k] += signs >> (63 - k) & 1 ? value : -value;
        squares += value * value;
    }
    const char *at = find_line(g, "gradient", slot->name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    double norm = next_number(&at), theirs = next_number(&at);
    for (int k = 0; k < PROJECTIONS; k++) {
        double apart = fabs(products[k] - next_number(&at));
        worst = apart <= worst ? worst : apart;
    }
    double apart = fabs(sqrt(squares) - norm);
    worst = apart <= worst ? worst : apart;
    judge(slot->name, worst / norm, theirs, GRADIENT);
}

static struct model_options options_of(int batch, int side, int classes) {
    return (struct model_options){.batch = batch,
                                  .height = side,
                                  .width = side,
                                  .classes = classes,
                                  .training = true,
                                  .dtype = DTYPE_F32,
                                  .mean = {0.485f, 0.456f, 0.406f},
                                  .std = {0.229f, 0.224f, 0.225f}};
}

static void check_network(struct backend *backend, enum fusion fusion) {
    struct golden g;
    struct graph graph;
    struct store store = {0};
    struct program program = {0};
    struct error err = {0};
    float logits[VALUES_MAX], metrics[LOSS_METRICS];
    golden_open(&g);
    struct model_options options = options_of(g.batch, g.side, g.classes);
    CU_ASSERT_EQUAL_FATAL(vgg_build_narrow(&graph, &options, g.narrow, &err), 0);
    CU_ASSERT_EQUAL_FATAL(program_compile(&program, &graph, &store, backend,
                                          &(struct compile_options){.fusion = fusion}, &err),
                          0);
    fill_parameters(&store, g.seed);
    fill_inputs(&program, &g);
    CU_ASSERT_EQUAL_FATAL(program_run(&program, NULL, &err), 0);
    int count = g.batch * g.classes;
    CU_ASSERT_FATAL(count <= VALUES_MAX);
    CU_ASSERT_EQUAL(program_read(&program, "logits", logits, (size_t)count * sizeof(float), &err),
                    0);
    CU_ASSERT_EQUAL(program_read(&program, "metrics", metrics, sizeof(metrics), &err), 0);
    check_values(&g, "logits", logits, count, 1);
    check_values(&g, "loss", &metrics[LOSS_SUM], 1, 1 / (float)g.batch);
    CU_ASSERT_EQUAL(store.slot_count, 32);
    for (int i = 0; i < store.slot_count; i++)
        check_gradient(&g, &store, &store.slots[i]);
    program_done(&program);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
    buf_done(&g.text);
}

static struct backend *reference(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    return backend;
}

static void the_reference_is_torchs(void) {
    check_network(reference(), FUSION_NONE);
}

#ifdef RINGMASTER_HAVE_CPU
static void the_cpu_is_torchs(void) {
    for (int fused = 0; fused < 2; fused++) {
        struct backend *backend = NULL;
        struct cpu_options options = {.threads = 2};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
        check_network(backend, fused ? FUSION_CONV : FUSION_NONE);
    }
}
#endif

/* The axes as a file of torchvision's has them. */
static void check_shape(const struct golden *g, const struct tensor *t) {
    const int64_t *dim = t->shape.dim;
    int64_t wanted[4] = {dim[0], dim[1], 0, 0};
    int rank = t->file == FILE_MATRIX ? 2 : t->shape.rank;
    if (t->file == FILE_MATRIX)
        wanted[1] = dim[1] * dim[2] * dim[3];
    else if (rank == 4)
        memcpy(wanted, (int64_t[]){dim[0], dim[3], dim[1], dim[2]}, sizeof(wanted));
    const char *at = find_line(g, "shape", t->name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    for (int i = 0; i < rank; i++)
        CU_ASSERT_EQUAL((int64_t)next_number(&at), wanted[i]);
    CU_ASSERT_EQUAL(*at, '\n');
}

static void names_and_shapes_are_torchvisions(void) {
    struct golden g;
    struct graph graph;
    struct error err = {0};
    struct model_options options = options_of(1, 224, 1000);
    const struct model *model = model_need("vgg16", &err);
    int64_t elements = 0;
    int count = 0;
    golden_open(&g);
    CU_ASSERT_PTR_NOT_NULL_FATAL(model);
    CU_ASSERT_EQUAL_FATAL(model->build(&graph, model, &options, &err), 0);
    for (int i = 0; i < graph.tensor_count; i++) {
        const struct tensor *t = &graph.tensors[i];
        if (t->role != TENSOR_PARAMETER)
            continue;
        check_shape(&g, t);
        elements += tensor_count(t);
        count++;
    }
    CU_ASSERT_EQUAL(count, 32);
    CU_ASSERT_EQUAL(elements, 138357544); /* torchvision's documented num_params */
    graph_done(&graph);
    buf_done(&g.text);
}

static void other_sizes_are_refused(void) {
    struct error err = {0};
    static const int sides[] = {32, 223, 256};
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        struct graph graph;
        struct model_options options = options_of(1, sides[i], 10);
        CU_ASSERT_EQUAL(vgg_build(&graph, NULL, &options, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "224 to 255");
        graph_done(&graph);
    }
}

#ifdef RINGMASTER_HAVE_CPU
UNIT_MAIN("golden.vgg", UNIT(names_and_shapes_are_torchvisions), UNIT(other_sizes_are_refused),
          UNIT(the_cpu_is_torchs), UNIT(the_reference_is_torchs))
#else
UNIT_MAIN("golden.vgg", UNIT(names_and_shapes_are_torchvisions), UNIT(other_sizes_are_refused),
          UNIT(the_reference_is_torchs))
#endif
