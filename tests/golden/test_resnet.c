/* ResNets against torch in f64: logits, loss, every gradient, running statistics, and the weights
 * after ten steps, or one. The values are in tests/golden/resnet and come from resnet_torch.py,
 * which says how weights and pictures are made and why no ReLU's input is near 0 in these cases.
 *
 * Errors are in units of the tensor's norm. Where a gradient is really 0, as before another norm,
 * its norm is f64's rounding error, and torch's f32 is off by 1e9 such units: three times that is
 * an absolute bound, which resnet_torch.py keeps below 1e-3 of the layer's gradient. */
#include "tests/golden/golden.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/data/dataset/labelled.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

enum { VALUES_MAX = 256 };

struct golden {
    char model[32];
    uint64_t seed;
    int batch, side, classes, steps;
    double rate, momentum, decay;
};

struct run {
    struct golden golden;
    struct golden_file file;
    struct backend *backend;
    struct network net;
    struct comm *comm;
    struct stepper stepper;
    uint8_t *images; /* owned, with labels and weights */
    int32_t *labels;
    float *weights;
    struct batch_layout layout;
    struct batch batch;
    float *first; /* owned: the parameters before the first step */
};

/* The initial values of a tensor: uniform between two bounds. */
struct start {
    double low, high;
    bool signs; /* one in four is negative, the same ones everywhere */
};

static struct start start_of(const char *name, bool vector, uint64_t fan_in) {
    const bool last = strncmp(name, "fc.", 3) == 0;
    if (strstr(name, "running_mean") != NULL)
        return (struct start){-0.5, 0.5, false};
    if (strstr(name, "running_var") != NULL)
        return (struct start){0.5, 1.5, false};
    if (vector && strstr(name, "weight") != NULL)
        return (struct start){0.5, 1.0, false};
    if (vector && !last)
        return (struct start){3.0, 3.5, true};
    const double bound = last ? 0.02 : pow(6.0 / (double)fan_in, 0.5);
    return (struct start){-bound, bound, false};
}

static void fill_slot(struct run *r, const struct store_slot *slot) {
    float *values = store_at(&r->net.store, slot, slot->home);
    const uint64_t hash = hashed_name(slot->name), sign = hashed_name("sign");
    const uint64_t fan_in = slot->count / (uint64_t)slot->shape.dim[0];
    const struct start start = start_of(slot->name, slot->shape.rank == 1, fan_in);
    for (size_t i = 0; i < slot->count; i++) {
        float value = hashed_uniform(hash, r->golden.seed, i, start.low, start.high);
        if (start.signs && hashed(sign, r->golden.seed, i) >> 62 == 0)
            value = -value;
        values[golden_place(&slot->shape, i)] = value;
    }
}

static void fill_store(struct run *r) {
    for (int k = 0; k < r->net.store.slot_count; k++)
        fill_slot(r, &r->net.store.slots[k]);
    store_changed(&r->net.store);
    size_t bytes = r->net.store.count[STORE_PARAMETERS] * sizeof(float);
    r->first = malloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->first);
    memcpy(r->first, r->net.store.arena[STORE_PARAMETERS], bytes);
}

static void fill_batch(struct run *r) {
    const struct golden *g = &r->golden;
    size_t pixels = (size_t)(g->batch * g->side * g->side) * 3;
    r->images = malloc(pixels);
    r->labels = calloc((size_t)g->batch, sizeof(*r->labels));
    r->weights = calloc((size_t)g->batch, sizeof(*r->weights));
    CU_ASSERT_FATAL(r->images != NULL && r->labels != NULL && r->weights != NULL);
    for (size_t i = 0; i < pixels; i++)
        r->images[i] = (uint8_t)(hashed(hashed_name("image"), g->seed, i) >> 56);
    for (int i = 0; i < g->batch; i++) {
        r->labels[i] =
            (int32_t)(hashed(hashed_name("label"), g->seed, (size_t)i) % (uint64_t)g->classes);
        r->weights[i] = 1;
    }
    r->layout = labelled_layout(g->batch, g->side, false);
    r->batch = (struct batch){
        .layout = &r->layout, .fields = {r->images, r->labels, r->weights}, .count = g->batch};
}

static void read_golden(struct run *r, const char *model) {
    struct golden *g = &r->golden;
    char name[64];
    (void)snprintf(name, sizeof(name), "resnet/%s", model);
    golden_open(&r->file, name);
    r->file.name = model;
    const char *line = golden_line(&r->file, "case", NULL);
    unsigned long long seed = 0;
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "%31s %llu %d %d %d %d %lf %lf %lf", g->model, &seed,
                                 &g->batch, &g->side, &g->classes, &g->steps, &g->rate,
                                 &g->momentum, &g->decay),
                          9);
    g->seed = seed;
}

static void open_run(struct run *r, const char *model, struct backend *backend,
                     enum fusion fusion) {
    *r = (struct run){.backend = backend};
    read_golden(r, model);
    const struct golden *g = &r->golden;
    struct network_options o = {.model = model,
                                .batch = g->batch,
                                .image_size = g->side,
                                .classes = g->classes,
                                .dtype = DTYPE_F32,
                                .fusion = fusion,
                                .mean = MODEL_MEAN,
                                .std = MODEL_STD};
    struct stepper_options how = {.accumulate = 1,
                                  .optimizer = {.momentum = (float)g->momentum,
                                                .weight_decay = (float)g->decay,
                                                .nesterov = 1},
                                  .decay_all = true};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&r->comm, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(network_open(&r->net, backend, &o, true, NULL), 0);
    fill_store(r);
    fill_batch(r);
    CU_ASSERT_EQUAL_FATAL(stepper_open(&r->stepper, &r->net, r->comm, &how, NULL), 0);
}

static void close_run(struct run *r) {
    stepper_done(&r->stepper);
    network_done(&r->net);
    comm_close(r->comm);
    backend_close(r->backend);
    free(r->images);
    free(r->labels);
    free(r->weights);
    free(r->first);
    buf_done(&r->file.text);
}

/* Checks all parameters in ARENA, or all running statistics. */
static void check_all(struct run *r, const char *kind, enum store_arena arena, const float *less,
                      double floor) {
    struct store *store = &r->net.store;
    const float *values = store->arena[arena];
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if ((slot->home == STORE_STATE) == (arena == STORE_STATE))
            golden_tensor(&r->file, kind, slot->name, &slot->shape, values + slot->first,
                          less != NULL ? less + slot->first : NULL, floor);
    }
}

static void evaluate_once(struct run *r) {
    float logits[VALUES_MAX];
    int count = r->golden.batch * r->golden.classes;
    struct program *program = &r->net.eval[0].program;
    CU_ASSERT_FATAL(count <= VALUES_MAX);
    CU_ASSERT_EQUAL(pass_feed(&r->net.eval[0], &r->batch, NULL), 0);
    CU_ASSERT_EQUAL(program_run(program, NULL, NULL), 0);
    CU_ASSERT_EQUAL(program_read(program, "logits", logits, (size_t)count * sizeof(float), NULL),
                    0);
    golden_values(&r->file, "eval_logits", logits, count, GOLDEN_FORWARD);
}

static void check_first_step(struct run *r) {
    float logits[VALUES_MAX];
    int count = r->golden.batch * r->golden.classes;
    CU_ASSERT_EQUAL(program_read(&r->net.train[0].program, "logits", logits,
                                 (size_t)count * sizeof(float), NULL),
                    0);
    golden_values(&r->file, "logits", logits, count, GOLDEN_FORWARD);
    check_all(r, "gradient", STORE_GRADIENTS, NULL, GOLDEN_GRADIENT);
    check_all(r, "state", STORE_STATE, NULL, GOLDEN_FORWARD);
}

/* Returns the number of steps to make: under a sanitizer, which takes minutes for ten, only as many
 * as it takes to touch everything. */
static int steps_of(const struct golden *g) {
#if defined(__SANITIZE_ADDRESS__)
    if (g->steps > 2 && getenv("RINGMASTER_LONG") == NULL)
        return 2;
#endif
    return g->steps;
}

static void check_model(const char *model, struct backend *backend, enum fusion fusion) {
    struct run r;
    float losses[VALUES_MAX];
    open_run(&r, model, backend, fusion);
    evaluate_once(&r);
    const int steps = steps_of(&r.golden);
    for (int step = 0; step < steps; step++) {
        struct step_outcome outcome;
        CU_ASSERT_EQUAL_FATAL(stepper_micro(&r.stepper, &r.batch, NULL), 0);
        if (step == 0)
            check_first_step(&r);
        CU_ASSERT_EQUAL_FATAL(stepper_finish(&r.stepper, r.golden.rate, &outcome, NULL), 0);
        CU_ASSERT(outcome.applied);
        losses[step] = (float)outcome.loss;
    }
    golden_first(&r.file, "loss", losses, steps, r.golden.steps, GOLDEN_FORWARD);
    /* First gradients of all parameters, statistics and three lists; then the parameters' changes
     * and the last statistics. */
    CU_ASSERT_EQUAL(r.file.checked, (size_t)r.net.store.slot_count + 3);
    if (steps == r.golden.steps && steps > 1) {
        check_all(&r, "moved", STORE_PARAMETERS, r.first, GOLDEN_GRADIENT);
        check_all(&r, "last_state", STORE_STATE, NULL, GOLDEN_FORWARD);
        CU_ASSERT_EQUAL(r.file.checked, 2 * (size_t)r.net.store.slot_count + 3);
    }
    close_run(&r);
}

static struct backend *reference(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    return backend;
}

static void resnet18_of_the_reference_is_torchs(void) {
    check_model("resnet18", reference(), FUSION_NONE);
}

static void resnet50_of_the_reference_is_torchs(void) {
    check_model("resnet50", reference(), FUSION_NONE);
}

static void wide_resnet50_of_the_reference_is_torchs(void) {
    check_model("wide_resnet50_2", reference(), FUSION_NONE);
}

static void resnext50_of_the_reference_is_torchs(void) {
    check_model("resnext50_32x4d", reference(), FUSION_NONE);
}

#define OF_THE_REFERENCE                                                                           \
    UNIT(resnet18_of_the_reference_is_torchs), UNIT(resnet50_of_the_reference_is_torchs),          \
        UNIT(wide_resnet50_of_the_reference_is_torchs), UNIT(resnext50_of_the_reference_is_torchs)

#ifdef RINGMASTER_HAVE_CPU
static struct backend *fast(void) {
    struct backend *backend = NULL;
    /* Bounds are a few times torch's own errors, and Winograd's products have ten times those. */
    struct cpu_options options = {.threads = 2, .convs = CPU_CONVS_DIRECT};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    return backend;
}

static void resnet18_of_the_cpu_is_torchs(void) {
    check_model("resnet18", fast(), FUSION_NONE);
    check_model("resnet18", fast(), FUSION_CONV);
}

static void resnet50_of_the_cpu_is_torchs(void) {
    check_model("resnet50", fast(), FUSION_CONV);
}

static void wide_resnet50_of_the_cpu_is_torchs(void) {
    check_model("wide_resnet50_2", fast(), FUSION_NONE);
    check_model("wide_resnet50_2", fast(), FUSION_CONV);
}

static void resnext50_of_the_cpu_is_torchs(void) {
    check_model("resnext50_32x4d", fast(), FUSION_NONE);
    check_model("resnext50_32x4d", fast(), FUSION_CONV);
}

UNIT_SUITE("golden.resnet", OF_THE_REFERENCE, UNIT(resnet18_of_the_cpu_is_torchs),
           UNIT(resnet50_of_the_cpu_is_torchs), UNIT(wide_resnet50_of_the_cpu_is_torchs),
           UNIT(resnext50_of_the_cpu_is_torchs))
#else
UNIT_SUITE("golden.resnet", OF_THE_REFERENCE)
#endif
