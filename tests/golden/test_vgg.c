/* VGG-16 against torch in f64: logits, loss and every gradient of a narrow model, names and shapes
 * of the full one. The values come from vgg_torch.py, which says how weights and pictures are made.
 * Errors are in units of the tensor's norm; the larger of the floor and three times torch's own
 * error in f32 is allowed. */
#include "tests/golden/golden_classifier.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/program/program.h"
#include "trainer/models/model.h"
#include "trainer/models/vgg.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

enum { VALUES_MAX = 64 };

static void fill_parameters(struct store *store, uint64_t seed) {
    for (int k = 0; k < store->slot_count; k++) {
        const struct store_slot *slot = &store->slots[k];
        float *values = (float *)store->arena[STORE_PARAMETERS] + slot->first;
        double fan_in = (double)slot->count / (double)slot->shape.dim[0];
        double bound = slot->shape.rank == 1 ? 0.1 : sqrt(6 / fan_in);
        for (size_t i = 0; i < slot->count; i++)
            values[golden_place(&slot->shape, i)] =
                hashed_uniform(hashed_name(slot->name), seed, i, -bound, bound);
    }
    store_changed(store);
}

static void check_network(struct backend *backend, enum fusion fusion) {
    struct golden_classifier g;
    struct graph graph;
    struct store store = {0};
    struct program program = {0};
    struct error err = {0};
    float logits[VALUES_MAX], metrics[LOSS_METRICS];
    golden_classifier_read(&g, "vgg/vgg16");
    struct model_options options = golden_classifier_options(g.batch, g.side, g.classes, true);
    CU_ASSERT_EQUAL_FATAL(vgg_build_narrow(&graph, &options, g.narrow, &err), 0);
    CU_ASSERT_EQUAL_FATAL(program_compile(&program, &graph, &store, backend,
                                          &(struct compile_options){.fusion = fusion}, &err),
                          0);
    fill_parameters(&store, g.seed);
    golden_classifier_inputs(&g, &program);
    CU_ASSERT_EQUAL_FATAL(program_run(&program, NULL, &err), 0);
    int count = g.batch * g.classes;
    CU_ASSERT_FATAL(count <= VALUES_MAX);
    CU_ASSERT_EQUAL(program_read(&program, "logits", logits, (size_t)count * sizeof(float), &err),
                    0);
    CU_ASSERT_EQUAL(program_read(&program, "metrics", metrics, sizeof(metrics), &err), 0);
    const float loss = metrics[LOSS_SUM] / (float)g.batch;
    golden_values(&g.file, "logits", logits, count, GOLDEN_FORWARD);
    golden_values(&g.file, "loss", &loss, 1, GOLDEN_FORWARD);
    CU_ASSERT_EQUAL(store.slot_count, 32);
    for (int i = 0; i < store.slot_count; i++)
        golden_tensor(&g.file, "gradient", store.slots[i].name, &store.slots[i].shape,
                      store_at(&store, &store.slots[i], STORE_GRADIENTS), NULL, GOLDEN_GRADIENT);
    CU_ASSERT_EQUAL(g.file.checked, 34);
    program_done(&program);
    store_done(&store);
    graph_done(&graph);
    backend_close(backend);
    buf_done(&g.file.text);
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

/* Checks that the axes are those of a torchvision file. */
static void check_shape(struct golden_classifier *g, const struct tensor *t) {
    const int64_t *dim = t->shape.dim;
    int64_t wanted[4] = {dim[0], dim[1], 0, 0};
    int rank = t->file == FILE_MATRIX ? 2 : t->shape.rank;
    if (t->file == FILE_MATRIX)
        wanted[1] = dim[1] * dim[2] * dim[3];
    else if (rank == 4)
        memcpy(wanted, (int64_t[]){dim[0], dim[3], dim[1], dim[2]}, sizeof(wanted));
    const char *at = golden_line(&g->file, "shape", t->name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    for (int i = 0; i < rank; i++)
        CU_ASSERT_EQUAL((int64_t)golden_number(&at), wanted[i]);
    CU_ASSERT_EQUAL(*at, '\n');
}

static void names_and_shapes_are_torchvisions(void) {
    struct golden_classifier g;
    struct graph graph;
    struct error err = {0};
    struct model_options options = golden_classifier_options(1, 224, 1000, true);
    const struct model *model = model_need("vgg16", &err);
    int64_t elements = 0;
    int count = 0;
    golden_classifier_read(&g, "vgg/vgg16");
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
    buf_done(&g.file.text);
}

static void other_sizes_are_refused(void) {
    struct error err = {0};
    static const int sides[] = {32, 223, 256};
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        struct graph graph;
        struct model_options options = golden_classifier_options(1, sides[i], 10, true);
        CU_ASSERT_EQUAL(vgg_build(&graph, NULL, &options, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "224 to 255");
        graph_done(&graph);
    }
}

#ifdef RINGMASTER_HAVE_CPU
UNIT_SUITE("golden.vgg", UNIT(names_and_shapes_are_torchvisions), UNIT(other_sizes_are_refused),
           UNIT(the_cpu_is_torchs), UNIT(the_reference_is_torchs))
#else
UNIT_SUITE("golden.vgg", UNIT(names_and_shapes_are_torchvisions), UNIT(other_sizes_are_refused),
           UNIT(the_reference_is_torchs))
#endif
