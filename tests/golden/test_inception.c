/* Inception v3 against torch in f64: logits of both classifiers, their losses, every gradient and
 * the statistics of a narrow one, names and shapes of the whole one. The values come from
 * inception_torch.py, which says how weights and pictures are made. An error is given in units of
 * the tensor's norm; three times torch's own in f32 is allowed, or the floor. */
#include "tests/golden/golden_classifier.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/program/program.h"
#include "trainer/models/inception.h"
#include "trainer/models/model.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

enum { VALUES_MAX = 128, PARAMETERS = 292 };

static bool ends(const char *name, const char *end) {
    const size_t size = strlen(name), length = strlen(end);
    return size >= length && strcmp(name + size - length, end) == 0;
}

/* What a tensor starts from: uniform between two bounds. */
static void bounds_of(const struct store_slot *slot, double *ret_low, double *ret_high) {
    const char *name = slot->name;
    const double fan_in = (double)slot->count / (double)slot->shape.dim[0];
    const double bound = strstr(name, "fc.") != NULL ? 0.1 : sqrt(6 / fan_in);
    *ret_low = ends(name, "running_mean")                             ? -0.5
               : ends(name, "running_var") || ends(name, "bn.weight") ? 0.5
               : ends(name, "bn.bias")                                ? 3.0
                                                                      : -bound;
    *ret_high = ends(name, "running_mean")  ? 0.5
                : ends(name, "running_var") ? 1.5
                : ends(name, "bn.weight")   ? 1.0
                : ends(name, "bn.bias")     ? 3.5
                                            : bound;
}

static void fill_store(struct store *store, uint64_t seed) {
    for (int k = 0; k < store->slot_count; k++) {
        const struct store_slot *slot = &store->slots[k];
        float *values = store_at(store, slot, slot->home);
        double low, high;
        bounds_of(slot, &low, &high);
        for (size_t i = 0; i < slot->count; i++) {
            float value = hashed_uniform(hashed_name(slot->name), seed, i, low, high);
            if (ends(slot->name, "bn.bias") && hashed(hashed_name("sign"), seed, i) >> 62 == 0)
                value = -value;
            values[golden_place(&slot->shape, i)] = value;
        }
    }
    store_changed(store);
}

struct run {
    struct golden_classifier g;
    struct graph graphs[2]; /* of training, and of evaluation */
    struct program programs[2];
    struct store store;
};

static void open_run(struct run *r, struct backend *backend, enum fusion fusion) {
    *r = (struct run){0};
    golden_classifier_read(&r->g, "inception/inception_v3");
    for (int i = 0; i < 2; i++) {
        const struct model_options options =
            golden_classifier_options(r->g.batch, r->g.side, r->g.classes, i == 0);
        CU_ASSERT_EQUAL_FATAL(inception_build_narrow(&r->graphs[i], &options, r->g.narrow, NULL),
                              0);
        CU_ASSERT_EQUAL_FATAL(program_compile(&r->programs[i], &r->graphs[i], &r->store, backend,
                                              &(struct compile_options){.fusion = fusion}, NULL),
                              0);
    }
    fill_store(&r->store, r->g.seed);
    for (int i = 0; i < 2; i++)
        golden_classifier_inputs(&r->g, &r->programs[i]);
}

static void close_run(struct run *r, struct backend *backend) {
    for (int i = 0; i < 2; i++) {
        program_done(&r->programs[i]);
        graph_done(&r->graphs[i]);
    }
    store_done(&r->store);
    backend_close(backend);
    buf_done(&r->g.file.text);
}

static void check_logits(struct run *r, int program, const char *name, const char *kind) {
    float logits[VALUES_MAX];
    const int count = r->g.batch * r->g.classes;
    CU_ASSERT_FATAL(count <= VALUES_MAX);
    CU_ASSERT_EQUAL(
        program_read(&r->programs[program], name, logits, (size_t)count * sizeof(float), NULL), 0);
    golden_values(&r->g.file, kind, logits, count, GOLDEN_FORWARD);
}

static void check_losses(struct run *r) {
    static const char *const names[] = {"metrics", "aux_metrics"};
    float losses[2];
    for (int i = 0; i < 2; i++) {
        float metrics[LOSS_METRICS];
        CU_ASSERT_EQUAL(program_read(&r->programs[0], names[i], metrics, sizeof(metrics), NULL), 0);
        losses[i] = metrics[LOSS_SUM] / metrics[LOSS_WEIGHT];
    }
    golden_values(&r->g.file, "loss", losses, 2, GOLDEN_FORWARD);
}

static void check_network(struct backend *backend, enum fusion fusion) {
    struct run r;
    int parameters = 0;
    open_run(&r, backend, fusion);
    CU_ASSERT_EQUAL_FATAL(program_run(&r.programs[1], NULL, NULL), 0);
    check_logits(&r, 1, "logits", "eval_logits");
    CU_ASSERT_EQUAL_FATAL(program_run(&r.programs[0], NULL, NULL), 0);
    check_logits(&r, 0, "logits", "logits");
    check_logits(&r, 0, "aux_logits", "aux_logits");
    check_losses(&r);
    for (int i = 0; i < r.store.slot_count; i++) {
        const struct store_slot *slot = &r.store.slots[i];
        const bool state = slot->home == STORE_STATE;
        golden_tensor(&r.g.file, state ? "state" : "gradient", slot->name, &slot->shape,
                      store_at(&r.store, slot, state ? STORE_STATE : STORE_GRADIENTS), NULL,
                      state ? GOLDEN_FORWARD : GOLDEN_GRADIENT);
        parameters += !state;
    }
    CU_ASSERT_EQUAL(parameters, PARAMETERS);
    CU_ASSERT_EQUAL(r.g.file.checked, (size_t)r.store.slot_count + 4);
    close_run(&r, backend);
}

static void the_reference_is_torchs(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check_network(backend, FUSION_NONE);
}

#ifdef RINGMASTER_HAVE_CPU
static void the_cpu_is_torchs(void) {
    for (int fused = 0; fused < 2; fused++) {
        struct backend *backend = NULL;
        struct cpu_options options = {.threads = 2, .convs = CPU_CONVS_DIRECT};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
        check_network(backend, fused ? FUSION_CONV : FUSION_NONE);
    }
}
#endif

/* The axes as a file of torchvision's has them. */
static void check_shape(struct golden_classifier *g, const struct tensor *t) {
    const int64_t *dim = t->shape.dim;
    int64_t wanted[4] = {dim[0], dim[1], 0, 0};
    if (t->shape.rank == 4)
        memcpy(wanted, (int64_t[]){dim[0], dim[3], dim[1], dim[2]}, sizeof(wanted));
    const char *at = golden_line(&g->file, "shape", t->name);
    for (int i = 0; i < t->shape.rank; i++)
        CU_ASSERT_EQUAL((int64_t)golden_number(&at), wanted[i]);
    CU_ASSERT_EQUAL(*at, '\n');
}

/* In evaluation, too, with weights from a file. */
static void names_and_shapes_are_torchvisions(void) {
    for (int training = 0; training < 2; training++) {
        struct golden_classifier g;
        struct graph graph;
        struct error err = {0};
        const struct model *model = model_need("inception_v3", &err);
        int64_t elements = 0;
        int count = 0;
        golden_classifier_read(&g, "inception/inception_v3");
        g.batch = 2;
        g.classes = 1000;
        const struct model_options options =
            golden_classifier_options(g.batch, g.side, g.classes, training == 1);
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
        CU_ASSERT_EQUAL(count, PARAMETERS);
        CU_ASSERT_EQUAL(elements, 27161264); /* torchvision's documented num_params */
        graph_done(&graph);
        buf_done(&g.file.text);
    }
}

static void small_pictures_are_refused(void) {
    static const struct {
        int side;
        bool training;
        const char *text; /* NULL: taken */
    } rows[] = {{298, true, "at least 299 pixels in training, which its second classifier needs"},
                {74, false, "at least 75 pixels, not 74"},
                {299, true, NULL},
                {75, false, NULL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct graph graph;
        struct error err = {0};
        const struct model_options options =
            golden_classifier_options(2, rows[i].side, 10, rows[i].training);
        const int result = inception_build(&graph, NULL, &options, &err);
        CU_ASSERT_EQUAL(result, rows[i].text == NULL ? 0 : -1);
        if (rows[i].text != NULL) {
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
            ASSERT_CONTAINS(err.text, rows[i].text);
        }
        graph_done(&graph);
    }
}

#ifdef RINGMASTER_HAVE_CPU
UNIT_SUITE("golden.inception", UNIT(names_and_shapes_are_torchvisions),
           UNIT(small_pictures_are_refused), UNIT(the_cpu_is_torchs), UNIT(the_reference_is_torchs))
#else
UNIT_SUITE("golden.inception", UNIT(names_and_shapes_are_torchvisions),
           UNIT(small_pictures_are_refused), UNIT(the_reference_is_torchs))
#endif
